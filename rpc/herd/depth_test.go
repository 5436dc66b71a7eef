package herd_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/herd"
)

// narrow is a device with short queues.
type narrow struct {
	fabric.Device
	depth int
}

// Limits implements fabric.Device.
func (d narrow) Limits() fabric.Limits {
	lim := d.Device.Limits()
	lim.MaxDepth = d.depth
	return lim
}

// NewDomain implements fabric.Device.
func (d narrow) NewDomain() (fabric.Domain, error) {
	dom, err := d.Device.NewDomain()
	return narrowDomain{dom, d.depth}, err
}

// Dial implements fabric.Device.
func (d narrow) Dial(ctx context.Context, a fabric.Addr, cfg fabric.QPConfig, private []byte) (fabric.QP, error) {
	if dom, ok := cfg.Domain.(narrowDomain); ok {
		cfg.Domain = dom.Domain
	}
	if cfg.SendDepth > d.depth || cfg.RecvDepth > d.depth {
		return nil, fmt.Errorf("queues of %d and %d: %w", cfg.SendDepth, cfg.RecvDepth, fabric.ErrInvalid)
	}
	return d.Device.Dial(ctx, a, cfg, private)
}

type narrowDomain struct {
	fabric.Domain
	depth int
}

// NewUD implements fabric.Domain.
func (d narrowDomain) NewUD(cfg fabric.QPConfig) (fabric.QP, error) {
	if cfg.SendDepth > d.depth || cfg.RecvDepth > d.depth {
		return nil, fmt.Errorf("queues of %d and %d: %w", cfg.SendDepth, cfg.RecvDepth, fabric.ErrInvalid)
	}
	return d.Domain.NewUD(cfg)
}

// A client that asks for more than the server allows gets less, and is told how much; what
// its own device cannot hold is an error that says what to do.
func TestMoreThanThereIs(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.HandleCount()
		s := r.serve(herd.ServerConfig{Cores: 2, Window: 6, SlotSize: 256})
		c := r.dial(herd.ConnConfig{Window: 64, SlotSize: 4096})
		if c.Window() != 6 || c.MaxMessage() != 256-24 {
			t.Errorf("a window of %d, messages of %d bytes", c.Window(), c.MaxMessage())
		}
		if err := countUp(c, 1, 100, 100); err != nil {
			t.Error(err)
		}
		if err := c.CoreConn(0).Send(1, make([]byte, 300)); !errors.Is(err, rpc.ErrTooLarge) {
			t.Errorf("a message longer than the server allows: %v", err)
		}
		for range 6 {
			if err := send(c.CoreConn(1), c, request(procEcho, nil)); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.CoreConn(1).Send(1, request(procEcho, nil)); !errors.Is(err, rpc.ErrWindowFull) {
			t.Errorf("a request more than the server allows: %v", err)
		}
		// Room for each request and little more: as many are on their way all the same.
		tight := r.dial(herd.ConnConfig{Device: narrow{r.NewDevice(), 17}, Window: 64})
		if err := countUp(tight, 2, 100, 0); err != nil || tight.Window() != 6 {
			t.Errorf("with short queues: %v, window %d", err, tight.Window())
		}
		_, err := r.tryDial(herd.ConnConfig{Device: narrow{r.NewDevice(), 13}, Window: 64})
		if !errors.Is(err, fabric.ErrInvalid) || !strings.Contains(err.Error(), "smaller Window") {
			t.Errorf("with shorter ones: %v", err)
		}
		if few := r.dial(herd.ConnConfig{Device: narrow{r.NewDevice(), 13}, Window: 4}); few.Window() != 4 {
			t.Errorf("with less asked for: window %d", few.Window())
		}
		for _, cfg := range []herd.ConnConfig{{Window: 65}, {Window: -1}, {SlotSize: 8192}} {
			if _, err := r.tryDial(cfg); err == nil || !strings.Contains(err.Error(), "must be") {
				t.Errorf("%+v: %v", cfg, err)
			}
		}
		await(t, "the refused to be gone", func() bool { return s.Stats().Clients == 3 })
	})
}

package serving_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/loop"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/internal/serving"
)

// patience bounds what is waited for in vain when a test fails.
const patience = 2 * time.Minute

// rig is an acceptor that refuses everybody, with what they bring as the reason, and a
// device of theirs.
type rig struct {
	*testing.T
	*serving.Acceptor
	server, client fabric.Device
	admit          func(ctx context.Context, req fabric.ConnRequest) error // in place of refusing
}

func newRig(t *testing.T) *rig {
	t.Helper()
	network := loop.NewNetwork()
	r := &rig{T: t}
	for name, dev := range map[string]*fabric.Device{"server": &r.server, "client": &r.client} {
		d, err := network.NewDevice(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.Close() })
		*dev = d
	}
	r.Acceptor = serving.NewAcceptor(&serving.Config{
		Path: "test", Devices: []fabric.Device{r.server}, MaxClients: 4, Log: slog.New(slog.DiscardHandler),
		Admit: func(ctx context.Context, dev fabric.Device, req fabric.ConnRequest) error {
			if r.admit != nil {
				return r.admit(ctx, req)
			}
			if dev != r.server {
				t.Errorf("a request on device %s", dev.Name())
			}
			return errors.New(string(req.Private()))
		},
	})
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// listen listens at an address.
func (r *rig) listen(name string) (fabric.Addr, error) {
	r.Helper()
	addr, err := fabric.ParseAddr("loop:" + name)
	if err != nil {
		r.Fatal(err)
	}
	return r.Listen(r.server, addr, fabric.ListenConfig{})
}

// admits reports whether who dials an address comes to the acceptor.
func (r *rig) admits(addr fabric.Addr) bool {
	r.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	dom, err := r.client.NewDomain()
	if err != nil {
		r.Fatal(err)
	}
	defer func() { _ = dom.Close() }()
	cq, err := r.client.NewCQ(256)
	if err != nil {
		r.Fatal(err)
	}
	defer func() { _ = cq.Close() }()
	_, err = r.client.Dial(ctx, addr, fabric.QPConfig{Domain: dom, SendCQ: cq, RecvCQ: cq}, []byte("so I am"))
	if err == nil || ctx.Err() != nil {
		r.Fatalf("dialing %v: %v", addr, err)
	}
	if errors.Is(err, fabric.ErrInvalid) {
		r.Fatal(err)
	}
	var refused *fabric.RejectedError
	return errors.As(err, &refused) && string(refused.Private) == "so I am"
}

// Clients come in at every address until the acceptor stops, and again at one that it
// takes later; after Close nobody does, and nothing can be listened at.
func TestAcceptor(t *testing.T) {
	r := newRig(t)
	var addrs []fabric.Addr
	for _, name := range []string{"front", "back"} {
		addr, err := r.listen(name)
		if err != nil || !r.admits(addr) {
			t.Fatalf("%s: nobody is admitted, %v", name, err)
		}
		addrs = append(addrs, addr)
	}
	r.StopListening()
	for _, addr := range addrs {
		if r.admits(addr) {
			t.Errorf("%v admits after Stop", addr)
		}
	}
	side, err := r.listen("side")
	if err != nil || !r.admits(side) {
		t.Errorf("after Stop: nobody is admitted elsewhere, %v", err)
	}
	ctx, cancel := r.Handshake()
	defer cancel()
	if ctx.Err() != nil {
		t.Error("handshakes end before the acceptor")
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := r.Close(); !errors.Is(err, rpc.ErrClosed) {
		t.Errorf("a second Close: %v", err)
	}
	if ctx.Err() == nil || r.admits(side) {
		t.Error("the acceptor is open after Close")
	}
	if _, err := r.listen("late"); !errors.Is(err, rpc.ErrClosed) {
		t.Errorf("listening after Close: %v", err)
	}
}

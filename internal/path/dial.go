package path

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/rpc/driver"
	"github.com/remora-kv/remora/rpc/rfp"
)

// maxCores bounds the number of cores that a server may claim.
const maxCores = 1024

// Dialer makes connections with the cores of one server.
type Dialer struct {
	Addr   fabric.Addr
	Device fabric.Device
	Clock  fabric.Clock
}

// ParseAddr reads an address. Its option path, which is ours and not the fabric's, is moved
// to cfg.
func ParseAddr(url string, cfg *Config) (fabric.Addr, error) {
	addr, err := fabric.ParseAddr(url)
	if err != nil {
		return addr, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if name := addr.Options.Get("path"); name != "" {
		cfg.Path = Name(name)
	}
	delete(addr.Options, "path")
	return addr, nil
}

// NewDialer makes a dialer for an address, on a device of the caller or, if that is nil, on
// one that it opens. The caller closes the device.
func NewDialer(addr fabric.Addr, device fabric.Device, log *slog.Logger) (Dialer, error) {
	if device == nil {
		if addr.Fabric == provider.Loop {
			return Dialer{}, fmt.Errorf("%w: %s exists only on the device of its network: pass that with WithDevice", ErrInvalid, addr)
		}
		set := provider.New()
		set.Log = log
		var err error
		if device, err = set.Open(addr.String()); err != nil {
			return Dialer{}, fmt.Errorf("remora: %w", err)
		}
	}
	return Dialer{Addr: addr, Device: device, Clock: device.Clock()}, nil
}

// connect makes a connection with a core and greets the server.
func (d *Dialer) connect(ctx context.Context, cfg *Config, core int) (*Conn, *command.Welcome, error) {
	ctx, cancel := context.WithTimeout(ctx, cfg.DialTimeout)
	defer cancel()
	first, err := rfp.Dial(ctx, d.Addr, cfg.rfp(d.Device, core))
	if err != nil {
		return nil, nil, err
	}
	conn := &Conn{rfp: first.Driven()}
	asked := d.Clock.Now()
	w, err := conn.greet(ctx, cfg.Path)
	if err == nil && cfg.Path.Small() {
		err = conn.addSmall(ctx, d, cfg, w)
	}
	if err == nil && cfg.readsMemory(w.Links) {
		conn.reader, err = d.newReader(ctx, cfg, conn.rfp.Window(), w, asked)
		if err != nil && cfg.canDoWithout(err) {
			w.Links, err = false, nil
		}
	}
	if err != nil {
		_ = conn.Close()
		return nil, nil, fmt.Errorf("hello to core %d: %w", first.Core(), err)
	}
	if cfg.InOrder && conn.small != nil {
		conn.gets = &pendingGets{hashes: make([]uint64, conn.small.Window())}
	}
	return conn, w, nil
}

// addSmall adds a connection for small messages, and makes sure that the server at its other
// end is the one that is known.
func (c *Conn) addSmall(ctx context.Context, d *Dialer, cfg *Config, known *command.Welcome) (err error) {
	if c.small, err = cfg.Path.kind().small(ctx, d, cfg, c.rfp.Core()); err != nil {
		return err
	}
	w, err := c.greet(ctx, cfg.Path)
	if err == nil && (!known.SameServer(w) || c.small.Cores() != w.Cores) {
		err = errRestarted
	}
	return err
}

// contextCheck bounds how long a goroutine waits for a result without a look at its context.
const contextCheck = time.Millisecond

// greet says hello on a connection that no other goroutine uses.
func (c *Conn) greet(ctx context.Context, path Name) (*command.Welcome, error) {
	if err := c.Send(hello()); err != nil {
		return nil, err
	}
	c.Flush()
	var result []byte
	for {
		var err error
		var ok bool
		if result, err, ok = c.Next(); err != nil {
			return nil, err
		}
		if ok {
			break
		}
		if err := c.Err(); err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		c.Wait(contextCheck)
	}
	w, err := ParseWelcome(result)
	if err != nil {
		return nil, err
	}
	if core, cores := c.rfp.Core(), c.rfp.Cores(); w.Core != core || w.Cores != cores {
		return nil, fmt.Errorf("dialed core %d of %d, but the server says it is core %d of %d: %w", core, cores, w.Core, w.Cores, ErrProtocol)
	}
	if len(w.Paths) != 0 && path != Fetch && !slices.Contains(w.Paths, string(path)) {
		return nil, fmt.Errorf("%w: path %s, the server offers %v (search paths need their engine, such as --engine cuckoo for pilaf)", ErrUnsupported, path, w.Paths)
	}
	return w, nil
}

func hello() *driver.Message {
	return &driver.Message{Proc: uint16(command.Hello), Class: uint8(command.Hello), Head: command.AppendHello(nil)}
}

// ParseWelcome reads the result of hello.
func ParseWelcome(result []byte) (*command.Welcome, error) {
	body, status, err := command.ParseStatus(result)
	switch {
	case err != nil:
		return nil, fmt.Errorf("malformed answer to hello (%d bytes): %w", len(result), ErrProtocol)
	case status == command.Draining:
		return nil, ErrDraining
	case status != command.OK:
		return nil, fmt.Errorf("the server answers protocol %d with status %q: %w", command.Protocol, status, ErrUnsupported)
	}
	w := new(command.Welcome)
	if err := json.Unmarshal(body, w); err != nil {
		return nil, fmt.Errorf("the answer to hello is not JSON: %w: %w", ErrProtocol, err)
	}
	switch {
	case w.Protocol != command.Protocol:
		return nil, fmt.Errorf("the server speaks protocol %d, this client %d: %w", w.Protocol, command.Protocol, ErrProtocol)
	case w.Cores < 1 || w.Cores > maxCores || w.Core < 0 || w.Core >= w.Cores || w.MaxKey < 1 || w.MaxValue < 1:
		return nil, fmt.Errorf("invalid answer to hello: core %d of %d, keys up to %d and values up to %d bytes: %w",
			w.Core, w.Cores, w.MaxKey, w.MaxValue, ErrProtocol)
	}
	return w, nil
}

// ConnectAll makes connections with all cores. first is a connection that exists already,
// with its welcome; nil makes one. When ConnectAll fails it closes all of them.
func (d *Dialer) ConnectAll(ctx context.Context, cfg *Config, first *Conn, w *command.Welcome) ([]*Conn, *command.Welcome, error) {
	if first == nil {
		var err error
		if first, w, err = d.connect(ctx, cfg, 0); err != nil {
			return nil, nil, err
		}
	}
	conns, errs := make([]*Conn, w.Cores), make([]error, w.Cores)
	conns[w.Core] = first
	var wg sync.WaitGroup
	for core := range conns {
		if core == w.Core {
			continue
		}
		wg.Go(func() {
			conn, other, err := d.connect(ctx, cfg, core)
			if err == nil && !w.SameServer(other) {
				err = errRestarted
			}
			conns[core], errs[core] = conn, err
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		for _, conn := range conns {
			if conn != nil {
				_ = conn.Close()
			}
		}
		return nil, nil, err
	}
	return conns, w, nil
}

// Reconnect connects with a core of a server that is known. Another server may answer: it has
// another welcome, and perhaps other cores.
func (d *Dialer) Reconnect(ctx context.Context, cfg *Config, known *command.Welcome, core int) (*Conn, *command.Welcome, error) {
	conn, w, refusal := d.connect(ctx, cfg, core)
	if !refused(refusal) {
		return conn, w, refusal
	}
	// Perhaps there are fewer cores now.
	conn, w, err := d.connect(ctx, cfg, rfp.AnyCore)
	if err == nil && known.SameServer(w) {
		_ = conn.Close()
		return nil, nil, refusal
	}
	return conn, w, err
}

package remora

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/driver"
	"github.com/remora-kv/remora/rpc/rfp"
)

// maxCores bounds what a server may say about itself.
const maxCores = 1024

// parseAddr reads an address and takes our own options out of it.
func parseAddr(url string, cfg *config) (fabric.Addr, error) {
	addr, err := fabric.ParseAddr(url)
	if err != nil {
		return addr, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if path := addr.Options.Get("path"); path != "" {
		cfg.path = Path(path)
	}
	delete(addr.Options, "path")
	return addr, nil
}

// openDevice opens the device of an address.
func openDevice(addr fabric.Addr, cfg *config) (fabric.Device, error) {
	if cfg.device != nil {
		return cfg.device, nil
	}
	if addr.Fabric == provider.Loop {
		return nil, fmt.Errorf("%w: %s is reached on the device of its own network only: give it with WithDevice",
			ErrInvalid, addr)
	}
	set := provider.New()
	set.Log = cfg.log
	dev, err := set.Open(addr.String())
	if err != nil {
		return nil, fmt.Errorf("remora: %w", err)
	}
	return dev, nil
}

// dialer makes connections to one server.
type dialer struct {
	addr   fabric.Addr
	name   string // the address in errors
	device fabric.Device
	clock  fabric.Clock
}

// connect makes a connection with a core and asks who answers.
func (d *dialer) connect(ctx context.Context, cfg *config, core int) (*coreConn, *command.Welcome, error) {
	ctx, cancel := context.WithTimeout(ctx, cfg.dialTimeout)
	defer cancel()
	first, err := rfp.Dial(ctx, d.addr, cfg.connConfig(d.device, core))
	if err != nil {
		return nil, nil, err
	}
	conn := &coreConn{rfp: first.Driven()}
	asked := d.clock.Now()
	w, err := greet(ctx, conn, cfg.path)
	if err == nil && cfg.path.short() {
		err = d.addShort(ctx, cfg, conn, w)
	}
	if err == nil && (cfg.path.searches() || cfg.links != 0 && w.Links) {
		err = conn.dialSight(ctx, d, cfg, w, asked)
		if err != nil && cfg.doesWithout(err) {
			w.Links, err = false, nil
		}
	}
	if err != nil {
		_ = conn.Close()
		return nil, nil, fmt.Errorf("hello to core %d: %w", first.Core(), err)
	}
	return conn, w, nil
}

// doesWithout reports whether a connection that cannot read the server's memory is of use
// nevertheless: a server has links on one of its addresses, and all else on every one; and
// nobody may have asked for links.
func (c *config) doesWithout(err error) bool {
	return !c.path.searches() && (rejected(err) || c.habitual && !errors.Is(err, errMoved))
}

// addShort adds what is short to a connection whose server is known. Who answers may be
// another one meanwhile.
func (d *dialer) addShort(ctx context.Context, cfg *config, conn *coreConn, known *command.Welcome) error {
	if err := conn.dialShort(ctx, d, cfg); err != nil {
		return err
	}
	w, err := greet(ctx, conn, cfg.path)
	if err == nil && (!sameServer(known, w) || conn.short.Cores() != w.Cores) {
		err = errMoved
	}
	return err
}

// greet says hello on a connection that nobody else uses.
func greet(ctx context.Context, conn *coreConn, path Path) (*command.Welcome, error) {
	if err := conn.Send(&driver.Message{Proc: uint16(command.Hello), Class: uint8(command.Hello), Head: command.AppendHello(nil)}); err != nil {
		return nil, err
	}
	conn.Flush()
	var result []byte
	for {
		var err error
		var ok bool
		if result, err, ok = conn.Next(); err != nil {
			return nil, err
		}
		if ok {
			break
		}
		if err := conn.Err(); err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		conn.Wait(nap)
	}
	w, err := parseWelcome(result)
	if err != nil {
		return nil, err
	}
	if core, cores := conn.rfp.Core(), conn.rfp.Cores(); w.Core != core || w.Cores != cores {
		return nil, fmt.Errorf("core %d of %d says that it is %d of %d: %w", core, cores, w.Core, w.Cores, ErrProtocol)
	}
	if len(w.Paths) != 0 && path != PathFetch && !slices.Contains(w.Paths, string(path)) {
		return nil, fmt.Errorf("%w: path %s, the server offers %v", ErrUnsupported, path, w.Paths)
	}
	return w, nil
}

// parseWelcome reads the result of hello.
func parseWelcome(result []byte) (*command.Welcome, error) {
	body, status, err := command.ParseStatus(result)
	if err != nil {
		return nil, errMalformed
	}
	if status != command.OK {
		return nil, fmt.Errorf("the server does not speak protocol %d: %w", command.Protocol, statusError(status))
	}
	w := new(command.Welcome)
	if err := json.Unmarshal(body, w); err != nil {
		return nil, fmt.Errorf("hello is answered by what is not JSON: %w: %w", ErrProtocol, err)
	}
	switch {
	case w.Protocol != command.Protocol:
		return nil, fmt.Errorf("the server speaks protocol %d, this client %d: %w", w.Protocol, command.Protocol, ErrProtocol)
	case w.Cores < 1 || w.Cores > maxCores || w.Core < 0 || w.Core >= w.Cores || w.MaxValue < 1:
		return nil, fmt.Errorf("core %d of %d with values up to %d bytes makes no sense: %w", w.Core, w.Cores, w.MaxValue, ErrProtocol)
	}
	return w, nil
}

// errMoved says that a server became another between two connections.
var errMoved = errors.New("the server was restarted meanwhile")

// sameServer reports whether two answers come from one start of a server, with
// one map.
func sameServer(a, b *command.Welcome) bool {
	return a.Instance == b.Instance && a.Seed == b.Seed && a.Cores == b.Cores
}

// connectAll makes connections with all cores. first is one that there is
// already, and is closed when the others cannot be had; nil makes it.
func (d *dialer) connectAll(ctx context.Context, cfg *config, first *coreConn, w *command.Welcome) ([]*coreConn, *command.Welcome, error) {
	if first == nil {
		var err error
		if first, w, err = d.connect(ctx, cfg, 0); err != nil {
			return nil, nil, err
		}
	}
	conns, errs := make([]*coreConn, w.Cores), make([]error, w.Cores)
	conns[w.Core] = first
	var wg sync.WaitGroup
	for core := range conns {
		if core == w.Core {
			continue
		}
		wg.Go(func() {
			conn, other, err := d.connect(ctx, cfg, core)
			if err == nil && !sameServer(w, other) {
				err = errMoved
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

// reach connects with a core of a server that is known. Who answers may be
// another one.
func (d *dialer) reach(
	ctx context.Context, cfg *config, known *command.Welcome, core int,
) (*coreConn, *command.Welcome, error) {
	conn, w, refusal := d.connect(ctx, cfg, core)
	if !rejected(refusal) {
		return conn, w, refusal
	}
	// Perhaps there are fewer cores now.
	conn, w, err := d.connect(ctx, cfg, rfp.AnyCore)
	if err == nil && sameServer(known, w) {
		_ = conn.Close()
		return nil, nil, refusal
	}
	return conn, w, err
}

// lost is the error of an operation without an answer.
func (d *dialer) lost(op command.Proc, sent bool, why error) error {
	name := op.String()
	if op == opChase {
		name = "chase"
	}
	return &LostError{Op: name, Addr: d.name, Sent: sent, Err: why}
}

// rejected reports whether the server itself refused a connection.
func rejected(err error) bool {
	var r *fabric.RejectedError
	return errors.As(err, &r)
}

// callFailed returns the failure of a call at the server.
func callFailed(err error) (*rpc.Error, bool) {
	var e *rpc.Error
	return e, errors.As(err, &e)
}

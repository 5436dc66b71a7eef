package path

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/store"
)

// Conns are a client's connections with a server, for any number of goroutines: a connection set,
// which is replaced when the server was restarted, and goroutines that make lost connections anew.
type Conns struct {
	dialer Dialer
	addr   string
	cfg    Config
	log    *slog.Logger

	set       atomic.Pointer[Set]
	replacing chan struct{} // held by the goroutine that replaces set

	ctx    context.Context
	cancel context.CancelFunc
	mu     sync.Mutex // guards the change of closed and, with it, starts of goroutines
	closed atomic.Bool
	wg     sync.WaitGroup

	registry   registry
	reconnects atomic.Uint64
}

// Connect makes connections with all cores. ctx bounds the attempt.
func Connect(ctx context.Context, d Dialer, cfg Config, log *slog.Logger) (*Conns, error) {
	conns, w, err := d.ConnectAll(ctx, &cfg, nil, nil)
	if err != nil {
		return nil, err
	}
	c := &Conns{dialer: d, addr: d.Addr.String(), cfg: cfg, log: log, replacing: make(chan struct{}, 1)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.set.Store(c.newSet(w, conns))
	c.log.Debug("connected", "addr", c.addr, "cores", w.Cores, "fabric", d.Device.Fabric(), "device", d.Device.Name())
	return c, nil
}

// newSet makes a set of connections with all cores.
func (c *Conns) newSet(w *command.Welcome, conns []*Conn) *Set {
	set := &Set{Welcome: w, Routes: make([]Route, len(conns)), seed: store.Seed(w.Seed), hashes: c.cfg.Path.NeedsHashes()}
	for core, conn := range conns {
		r := &set.Routes[core]
		r.core, r.since, r.backoff = core, c.now(), c.cfg.Backoff()
		r.conn.Store(c.registry.add(conn))
	}
	return set
}

// Set returns the present connection set. An operation uses one set.
func (c *Conns) Set() *Set { return c.set.Load() }

// Closed reports whether Close was called, and Done is closed then.
func (c *Conns) Closed() bool { return c.closed.Load() }

// Done returns a channel that Close closes.
func (c *Conns) Done() <-chan struct{} { return c.ctx.Done() }

// Close closes all connections, and waits for the goroutines that make new ones. A second Close
// returns ErrClosed.
func (c *Conns) Close() error {
	c.mu.Lock()
	if c.closed.Load() {
		c.mu.Unlock()
		return ErrClosed
	}
	c.closed.Store(true)
	c.mu.Unlock()
	c.cancel()
	c.end(c.set.Load())
	c.wg.Wait()
	return nil
}

// Counters returns what all connections have done, closed ones included.
func (c *Conns) Counters() Counters {
	n := c.registry.sum()
	n.Reconnects = c.reconnects.Load()
	return n
}

func (c *Conns) now() int64 { return c.dialer.Clock.Now() }

// Await waits until a route may have a connection: after nil the caller looks again.
func (c *Conns) Await(ctx context.Context, r *Route) error {
	o := r.down()
	if o == nil {
		if c.closed.Load() {
			return ErrClosed
		}
		return nil
	}
	left := c.cfg.ReconnectWait - time.Duration(c.now()-o.since)
	if left <= 0 {
		return o.reason()
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-o.over:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return fmt.Errorf("no connection within %v: %w", c.cfg.ReconnectWait, o.reason())
	}
}

// Lose takes a lost connection out of its route and starts to make a new one.
func (c *Conns) Lose(set *Set, r *Route, conn *Shared, why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed.Load() {
		return
	}
	if o := r.drop(conn, c.now(), why); o != nil {
		c.log.Warn("connection lost", "addr", c.addr, "core", r.core, "err", why)
		c.wg.Go(func() { c.repair(set, r, o, conn) })
	}
}

// Leave loses all connections of a set whose server is shutting down. Operations in flight still
// get their answers.
func (c *Conns) Leave(set *Set) {
	for i := range set.Routes {
		if conn := set.Routes[i].Conn(); conn != nil {
			c.Lose(set, &set.Routes[i], conn, ErrDraining)
		}
	}
}

// repair makes a new connection for a route, or a new set, however long that takes. The first
// attempt is made at once, unless connections do not last.
func (c *Conns) repair(set *Set, r *Route, o *outage, old *Shared) {
	if errors.Is(o.reason(), ErrDraining) {
		defer c.registry.remove(old) // it still brings answers
	} else {
		c.registry.remove(old)
	}
	for pause := o.shortLived; ; pause = true {
		if pause && !r.backoff.Wait(c.ctx, o.over) {
			return
		}
		err := c.reconnect(set, r)
		if err == nil {
			return
		}
		o.failed(err)
		c.log.Debug("no connection yet", "addr", c.addr, "core", r.core, "err", err)
	}
}

// reconnect tries once.
func (c *Conns) reconnect(set *Set, r *Route) error {
	conn, w, err := c.dialer.Reconnect(c.ctx, &c.cfg, set.Welcome, r.core)
	if err != nil {
		return err
	}
	if !set.Welcome.SameServer(w) {
		return c.replace(c.ctx, set, conn, w)
	}
	fresh := c.registry.add(conn)
	if !r.restore(fresh, c.now()) {
		c.registry.remove(fresh)
		return nil
	}
	c.reconnects.Add(1)
	c.log.Info("connected again", "addr", c.addr, "core", r.core)
	return nil
}

// Refresh asks the server for its welcome again, and replaces the set if the server was restarted;
// changed reports whether it did, or another goroutine had.
func (c *Conns) Refresh(ctx context.Context, set *Set, conn *Shared) (changed bool, err error) {
	if c.set.Load() != set {
		return true, nil
	}
	w, err := conn.hello(ctx)
	if err != nil || set.Welcome.SameServer(w) {
		return false, err
	}
	done := make(chan error, 1)
	c.mu.Lock()
	if c.closed.Load() {
		c.mu.Unlock()
		return false, ErrClosed
	}
	c.wg.Go(func() { done <- c.replace(c.ctx, set, nil, nil) }) // which goes on when ctx ends
	c.mu.Unlock()
	select {
	case err := <-done:
		return err == nil, err
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// replace makes a set of connections with a restarted server. first is a connection with it,
// or nil. One goroutine does so at a time, and the others find nothing left to do.
func (c *Conns) replace(ctx context.Context, old *Set, first *Conn, w *command.Welcome) error {
	drop := func(err error) error {
		if first != nil {
			_ = first.Close()
		}
		return err
	}
	select {
	case c.replacing <- struct{}{}:
		defer func() { <-c.replacing }()
	case <-ctx.Done():
		return drop(context.Cause(ctx))
	}
	if c.set.Load() != old {
		return drop(nil)
	}
	conns, w, err := c.dialer.ConnectAll(ctx, &c.cfg, first, w)
	if err != nil {
		return err
	}
	next := c.newSet(w, conns)
	c.mu.Lock()
	if c.closed.Load() {
		c.mu.Unlock()
		c.end(next)
		return ErrClosed
	}
	c.set.Store(next)
	c.mu.Unlock()
	c.end(old)
	c.reconnects.Add(1)
	c.log.Info("connected with a restarted server", "addr", c.addr, "cores", w.Cores, "version", w.Version)
	return nil
}

// end ends all routes of a set.
func (c *Conns) end(set *Set) {
	for i := range set.Routes {
		if conn := set.Routes[i].end(); conn != nil {
			c.registry.remove(conn)
		}
	}
}

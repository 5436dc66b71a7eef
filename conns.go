package remora

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/remora-kv/remora/internal/backoff"
	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/internal/path"
	"github.com/remora-kv/remora/store"
)

// connSet is the connections with all cores of one start of a server. When the server was
// restarted the client replaces the whole set (R1).
type connSet struct {
	welcome *command.Welcome
	seed    store.Seed
	routes  []route
	hashes  bool // connections always need the hashes of keys
}

// route is a client's way to one core. While conn is nil a goroutine makes a new connection,
// or the set was replaced (R2).
type route struct {
	core int
	conn atomic.Pointer[path.Shared]

	mu      sync.Mutex
	outage  *outage // nil while there is a connection
	ended   bool    // the set was replaced, or the client closed
	since   int64   // when the connection was made, on the device's clock
	backoff backoff.Pauses
}

// outage is a time without a connection.
type outage struct {
	over       chan struct{} // closed at its end
	since      int64         // on the device's clock
	shortLived bool          // the connection before it did not last: pause before the next attempt

	mu  sync.Mutex
	err error // of the last attempt
}

func (o *outage) reason() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

func (o *outage) failed(err error) {
	o.mu.Lock()
	o.err = err
	o.mu.Unlock()
}

// newConnSet makes a set of connections with all cores.
func (c *Client) newConnSet(w *command.Welcome, conns []*path.Conn) *connSet {
	set := &connSet{
		welcome: w, seed: store.Seed(w.Seed), routes: make([]route, len(conns)), hashes: c.cfg.Path.NeedsHashes(),
	}
	for core, conn := range conns {
		r := &set.routes[core]
		r.core, r.since, r.backoff = core, c.now(), c.cfg.backoff()
		r.conn.Store(c.registry.add(conn))
	}
	return set
}

// routeOf returns the route to the core that has the key, and the hash of the key if the
// connection needs it.
func (set *connSet) routeOf(key string) (*route, uint64) {
	if len(set.routes) == 1 && !set.hashes {
		if conn := set.routes[0].conn.Load(); conn == nil || !conn.HasReader() {
			return &set.routes[0], 0
		}
	}
	hash := set.seed.HashString(key)
	return &set.routes[store.PartitionOf(hash, len(set.routes))], hash
}

// drop takes a lost connection out of its route. The first caller gets the outage, which it
// has to end; others get nil (R3).
func (r *route) drop(conn *path.Shared, now int64, why error) *outage {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended || !r.conn.CompareAndSwap(conn, nil) {
		return nil
	}
	r.outage = &outage{over: make(chan struct{}), since: now, err: why}
	if now-r.since > int64(r.backoff.Most()) {
		r.backoff.Reset()
	} else {
		r.outage.shortLived = true
	}
	return r.outage
}

// restore puts a new connection into the route, or returns false if the route was ended.
func (r *route) restore(conn *path.Shared, now int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return false
	}
	r.since = now
	r.conn.Store(conn)
	close(r.outage.over)
	r.outage = nil
	return true
}

// end takes the route out of use and returns its connection, if it has one.
func (r *route) end() *path.Shared {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	if r.outage != nil {
		close(r.outage.over)
		r.outage = nil
	}
	return r.conn.Swap(nil)
}

// down returns the outage, or nil if there is none.
func (r *route) down() *outage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.outage
}

// await waits until a route may have a connection: after nil the caller looks again.
func (c *Client) await(ctx context.Context, r *route) error {
	o := r.down()
	if o == nil {
		if c.closed.Load() {
			return ErrClosed
		}
		return nil
	}
	left := c.cfg.wait - time.Duration(c.now()-o.since)
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
		return fmt.Errorf("no connection within %v: %w", c.cfg.wait, o.reason())
	}
}

// lose takes a lost connection out of its route and starts to make a new one.
func (c *Client) lose(set *connSet, r *route, conn *path.Shared, why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed.Load() {
		return
	}
	if o := r.drop(conn, c.now(), why); o != nil {
		c.log.Warn("connection lost", "addr", c.name, "core", r.core, "err", why)
		c.wg.Go(func() { c.repair(set, r, o, conn) })
	}
}

// repair makes a new connection for a route, or a new set, however long that takes. The first
// attempt is made at once, unless connections do not last.
func (c *Client) repair(set *connSet, r *route, o *outage, old *path.Shared) {
	if errors.Is(o.reason(), path.ErrDraining) {
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
		c.log.Debug("no connection yet", "addr", c.name, "core", r.core, "err", err)
	}
}

// reconnect tries once.
func (c *Client) reconnect(set *connSet, r *route) error {
	conn, w, err := c.dialer.Reconnect(c.ctx, &c.cfg.Config, set.welcome, r.core)
	if err != nil {
		return err
	}
	if !set.welcome.SameServer(w) {
		return c.replace(c.ctx, set, conn, w)
	}
	fresh := c.registry.add(conn)
	if !r.restore(fresh, c.now()) {
		c.registry.remove(fresh)
		return nil
	}
	c.reconnects.Add(1)
	c.log.Info("connected again", "addr", c.name, "core", r.core)
	return nil
}

// replace makes a set of connections with a restarted server. first is a connection with it,
// or nil. One goroutine does so at a time, and the others find nothing left to do.
func (c *Client) replace(ctx context.Context, old *connSet, first *path.Conn, w *command.Welcome) error {
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
	if c.conns.Load() != old {
		return drop(nil)
	}
	conns, w, err := c.dialer.ConnectAll(ctx, &c.cfg.Config, first, w)
	if err != nil {
		return err
	}
	next := c.newConnSet(w, conns)
	c.mu.Lock()
	if c.closed.Load() {
		c.mu.Unlock()
		c.end(next)
		return ErrClosed
	}
	c.conns.Store(next)
	c.mu.Unlock()
	c.end(old)
	c.reconnects.Add(1)
	c.log.Info("connected with a restarted server", "addr", c.name, "cores", w.Cores, "version", w.Version)
	return nil
}

// end ends all routes of a set.
func (c *Client) end(set *connSet) {
	for i := range set.routes {
		if conn := set.routes[i].end(); conn != nil {
			c.registry.remove(conn)
		}
	}
}

// backoff returns the pauses between attempts to connect.
func (c *config) backoff() backoff.Pauses { return backoff.New(c.firstPause, c.longestPause) }

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
	"github.com/remora-kv/remora/store"
)

// link is the connections with all cores of one start of a server. When the
// server comes back as another one the whole link is replaced.
type link struct {
	welcome *command.Welcome
	seed    store.Seed
	lanes   []lane
	hints   bool // connections are told the hashes of keys, whether they have links or not
}

// lane is the way to one core. While conn is nil a goroutine is making a new one,
// or the link was replaced.
type lane struct {
	core int
	conn atomic.Pointer[callers]

	mu      sync.Mutex
	outage  *outage // nil while there is a connection
	ended   bool    // the link was replaced, or the client closed
	since   int64   // when the connection was made, on the device's clock
	backoff backoff.Pauses
}

// outage is a time without a connection.
type outage struct {
	over  chan struct{} // closed at its end
	since int64         // on the device's clock
	hasty bool          // the connection before it did not last

	mu  sync.Mutex
	err error // why there is still none
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

// newLink makes a link of connections with all cores.
func (c *Client) newLink(w *command.Welcome, conns []*coreConn) *link {
	l := &link{welcome: w, seed: store.Seed(w.Seed), lanes: make([]lane, len(conns)), hints: c.cfg.hashes()}
	for core, conn := range conns {
		ln := &l.lanes[core]
		ln.core, ln.since, ln.backoff = core, c.clock.Now(), c.cfg.backoff()
		ln.conn.Store(c.ledger.adopt(conn))
	}
	return l
}

// laneOf returns the way to the core that has the key, and the hash of the key where
// that is of use.
func (l *link) laneOf(key string) (*lane, uint64) {
	if len(l.lanes) == 1 && !l.hints {
		if conn := l.lanes[0].conn.Load(); conn == nil || conn.conn.sight == nil {
			return &l.lanes[0], 0
		}
	}
	hash := l.seed.HashString(key)
	return &l.lanes[store.PartitionOf(hash, len(l.lanes))], hash
}

// drop takes a connection that is over out of its lane. The first to do so gets
// the outage to end, others nil.
func (ln *lane) drop(conn *callers, now int64, why error) *outage {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	if ln.ended || !ln.conn.CompareAndSwap(conn, nil) {
		return nil
	}
	ln.outage = &outage{over: make(chan struct{}), since: now, err: why}
	if now-ln.since > int64(ln.backoff.Most()) {
		ln.backoff.Reset()
	} else {
		ln.outage.hasty = true
	}
	return ln.outage
}

// restore puts a new connection into the lane; false when it is not wanted.
func (ln *lane) restore(conn *callers, now int64) bool {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	if ln.ended {
		return false
	}
	ln.since = now
	ln.conn.Store(conn)
	close(ln.outage.over)
	ln.outage = nil
	return true
}

// end takes the lane out of use and returns its connection, if it has one.
func (ln *lane) end() *callers {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	ln.ended = true
	if ln.outage != nil {
		close(ln.outage.over)
		ln.outage = nil
	}
	return ln.conn.Swap(nil)
}

// down returns the outage, or nil when there is none (any more).
func (ln *lane) down() *outage {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	return ln.outage
}

// await waits until the lane of an operation may have a connection: nil says to
// look again.
func (c *Client) await(ctx context.Context, ln *lane) error {
	o := ln.down()
	if o == nil {
		if c.closed.Load() {
			return ErrClosed
		}
		return nil
	}
	left := c.cfg.wait - time.Duration(c.clock.Now()-o.since)
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

// lose is told that a connection is over, and has a new one made.
func (c *Client) lose(l *link, ln *lane, conn *callers, why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed.Load() {
		return
	}
	if o := ln.drop(conn, c.clock.Now(), why); o != nil {
		c.log.Warn("connection lost", "addr", c.name, "core", ln.core, "err", why)
		c.wg.Go(func() { c.repair(l, ln, o, conn) })
	}
}

// repair makes a new connection for a lane, or a new link, however long that
// takes. The first attempt is made at once, unless connections do not last.
func (c *Client) repair(l *link, ln *lane, o *outage, old *callers) {
	if errors.Is(o.reason(), errDraining) {
		defer c.ledger.retire(old) // it still brings answers
	} else {
		c.ledger.retire(old)
	}
	for {
		if o.hasty && !ln.backoff.Wait(c.ctx, o.over) {
			return
		}
		o.hasty = true
		err := c.reconnect(l, ln)
		if err == nil {
			return
		}
		o.failed(err)
		c.log.Debug("no connection yet", "addr", c.name, "core", ln.core, "err", err)
	}
}

// reconnect tries once.
func (c *Client) reconnect(l *link, ln *lane) error {
	conn, w, err := c.reach(c.ctx, &c.cfg, l.welcome, ln.core)
	if err != nil {
		return err
	}
	if !sameServer(l.welcome, w) {
		return c.replace(c.ctx, l, conn, w)
	}
	fresh := c.ledger.adopt(conn)
	if !ln.restore(fresh, c.clock.Now()) {
		c.ledger.retire(fresh)
		return nil
	}
	c.reconnects.Add(1)
	c.log.Info("connected again", "addr", c.name, "core", ln.core)
	return nil
}

// replace makes a link with a server that is another one now. first is a
// connection with it, or nil. Only one goroutine does so at a time; for the others
// there is nothing left to do.
func (c *Client) replace(ctx context.Context, old *link, first *coreConn, w *command.Welcome) error {
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
	if c.link.Load() != old {
		return drop(nil)
	}
	conns, w, err := c.connectAll(ctx, &c.cfg, first, w)
	if err != nil {
		return err
	}
	next := c.newLink(w, conns)
	c.mu.Lock()
	if c.closed.Load() {
		c.mu.Unlock()
		c.end(next)
		return ErrClosed
	}
	c.link.Store(next)
	c.mu.Unlock()
	c.end(old)
	c.reconnects.Add(1)
	c.log.Info("connected with a restarted server", "addr", c.name, "cores", w.Cores, "version", w.Version)
	return nil
}

// end ends all lanes of a link.
func (c *Client) end(l *link) {
	for i := range l.lanes {
		if conn := l.lanes[i].end(); conn != nil {
			c.ledger.retire(conn)
		}
	}
}

// backoff returns the pauses that were asked for.
func (c *config) backoff() backoff.Pauses { return backoff.New(c.firstPause, c.longestPause) }

package path

import (
	"sync"
	"sync/atomic"

	"github.com/remora-kv/remora/internal/backoff"
	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/store"
)

// Set is a connection set: the routes to all cores of one start of a server (P5).
type Set struct {
	Welcome *command.Welcome
	Routes  []Route
	seed    store.Seed
	hashes  bool // connections always need the hashes of keys
}

// RouteOf returns the route to the core that has the key, and the hash of the key if the
// connection needs it.
func (set *Set) RouteOf(key string) (*Route, uint64) {
	if len(set.Routes) == 1 && !set.hashes {
		if conn := set.Routes[0].Conn(); conn == nil || conn.conn.reader == nil {
			return &set.Routes[0], 0
		}
	}
	hash := set.seed.HashString(key)
	return &set.Routes[store.PartitionOf(hash, len(set.Routes))], hash
}

// Route is a client's way to one core. While it has no connection a goroutine makes a new one,
// or the set was replaced (P6).
type Route struct {
	core int
	conn atomic.Pointer[Shared]

	mu      sync.Mutex
	outage  *outage // nil while there is a connection
	ended   bool    // the set was replaced, or the client closed
	since   int64   // when the connection was made, on the device's clock
	backoff backoff.Pauses
}

// Conn returns the connection, or nil while there is none: see Conns.Await.
func (r *Route) Conn() *Shared { return r.conn.Load() }

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

// drop takes a lost connection out of its route. The first caller gets the outage, which it
// has to end; others get nil (P7).
func (r *Route) drop(conn *Shared, now int64, why error) *outage {
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
func (r *Route) restore(conn *Shared, now int64) bool {
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
func (r *Route) end() *Shared {
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
func (r *Route) down() *outage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.outage
}

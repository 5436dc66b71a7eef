package path

import (
	"sync"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc/driver"
)

// Counters count the operations of a connection. The fields are those of remora.Counters.
type Counters struct {
	Calls, Batches              uint64
	Fetches, Misses, Replies    uint64
	OneSidedReads, OneSidedHits uint64
	Reconnects, Retries         uint64
	Verbs                       fabric.Counters
}

// Add adds the counters of a connection.
func (n *Counters) Add(c Counters) {
	n.Calls += c.Calls
	n.Batches += c.Batches
	n.Fetches += c.Fetches
	n.Misses += c.Misses
	n.Replies += c.Replies
	n.OneSidedReads += c.OneSidedReads
	n.OneSidedHits += c.OneSidedHits
	n.Verbs.Add(&c.Verbs)
}

// Counters returns what the connection has done.
func (c *Conn) Counters() Counters {
	s := c.rfp.Stats()
	n := Counters{
		Calls: s.Calls, Batches: s.Frames, Fetches: s.Fetches, Misses: s.Misses, Replies: s.Replies, Verbs: c.rfp.Counters(),
	}
	if c.small != nil {
		calls, replies := c.small.calls()
		v := c.small.Counters()
		n.Calls += calls
		n.Batches += calls
		n.Replies += replies
		n.Verbs.Add(&v)
	}
	if c.reader != nil {
		s, v := c.reader.conn.Stats(), c.reader.conn.Counters()
		n.Calls += s.Searches
		n.OneSidedReads = s.Searches
		n.OneSidedHits = c.reader.proven.Load()
		n.Verbs.Add(&v)
	}
	return n
}

// registry knows the open connections of a client, and what closed ones have done.
type registry struct {
	mu   sync.Mutex
	open map[*Shared]struct{}
	past Counters
}

// add shares a connection, which remove closes.
func (r *registry) add(conn *Conn) *Shared {
	shared := &Shared{driver.New(conn), conn}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open == nil {
		r.open = map[*Shared]struct{}{}
	}
	r.open[shared] = struct{}{}
	return shared
}

// remove closes a connection and keeps its counts.
func (r *registry) remove(conn *Shared) {
	_ = conn.driver.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, conn)
	r.past.Add(conn.conn.Counters())
}

func (r *registry) sum() Counters {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.past
	for conn := range r.open {
		n.Add(conn.conn.Counters())
	}
	return n
}

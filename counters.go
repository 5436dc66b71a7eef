package remora

import (
	"sync"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/path"
)

// Counters are what a client or a session has done since it was made, over all
// its connections.
type Counters struct {
	// Calls counts operations, greetings included, and Batches the frames that carried
	// them to the server.
	Calls, Batches uint64
	// Fetches counts READs of answers, Misses those that found no answer yet, and
	// Replies the answers that the server pushed.
	Fetches, Misses, Replies uint64
	// OneSidedReads counts gets that were tried by READs of the server's memory, and
	// OneSidedHits those after which the server was not asked.
	OneSidedReads, OneSidedHits uint64
	// Reconnects counts connections made in place of lost ones, and Retries the
	// reads that were tried again.
	Reconnects, Retries uint64
	// Verbs counts the operations of the fabric.
	Verbs fabric.Counters
}

// add adds what a connection has done.
func (n *Counters) add(c path.Counters) {
	n.Calls += c.Calls
	n.Batches += c.Batches
	n.Fetches += c.Fetches
	n.Misses += c.Misses
	n.Replies += c.Replies
	n.OneSidedReads += c.OneSidedReads
	n.OneSidedHits += c.OneSidedHits
	n.Verbs.Add(&c.Verbs)
}

// registry knows the open connections of a client, and what closed ones have done.
type registry struct {
	mu   sync.Mutex
	open map[*path.Shared]struct{}
	past Counters
}

// add shares a connection, which remove closes.
func (r *registry) add(conn *path.Conn) *path.Shared {
	shared := path.Share(conn)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open == nil {
		r.open = map[*path.Shared]struct{}{}
	}
	r.open[shared] = struct{}{}
	return shared
}

// remove closes a connection and keeps its counts.
func (r *registry) remove(conn *path.Shared) {
	_ = conn.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, conn)
	r.past.add(conn.Counters())
}

func (r *registry) sum() Counters {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.past
	for conn := range r.open {
		n.add(conn.Counters())
	}
	return n
}

// Counters returns what the client has done. Sessions count for themselves.
func (c *Client) Counters() Counters {
	n := c.registry.sum()
	n.Reconnects, n.Retries = c.reconnects.Load(), c.retries.Load()
	return n
}

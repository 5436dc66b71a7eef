package remora

import (
	"sync"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc/driver"
)

// Counters are what a client or a session has done since it was made, over all
// its connections.
type Counters struct {
	// Calls are operations, greetings included, and Batches the frames that took
	// them to the server.
	Calls, Batches uint64
	// Fetches are READs of answers, Misses those of them that found none yet, and
	// Replies the answers that the server pushed.
	Fetches, Misses, Replies uint64
	// Looks are gets that were tried by READs of the server's memory, and Seen those of
	// them for which it need not be asked.
	Looks, Seen uint64
	// Reconnects are connections made in place of lost ones, and Retries the
	// reads that were tried again.
	Reconnects, Retries uint64
	// Verbs are the operations of the fabric.
	Verbs fabric.Counters
}

// add adds what a connection has done.
func (n *Counters) add(conn *coreConn) {
	s, v := conn.rfp.Stats(), conn.rfp.Counters()
	n.Calls += s.Calls
	n.Batches += s.Frames
	n.Fetches += s.Fetches
	n.Misses += s.Misses
	n.Replies += s.Replies
	n.Verbs.Add(&v)
	if conn.short != nil {
		calls, replies := conn.shortStats()
		v := conn.short.Counters()
		n.Calls += calls
		n.Batches += calls
		n.Replies += replies
		n.Verbs.Add(&v)
	}
	if conn.sight != nil {
		s, v := conn.sight.conn.Stats(), conn.sight.conn.Counters()
		n.Calls += s.Searches
		n.Looks += s.Searches
		n.Seen += conn.sight.seen.Load()
		n.Verbs.Add(&v)
	}
}

// callers make calls over one connection, from any number of goroutines.
type callers struct {
	*driver.Client
	conn *coreConn
}

// ledger knows the connections of a client, and what those did that are over.
type ledger struct {
	mu   sync.Mutex
	open map[*callers]struct{}
	past Counters
}

// adopt makes a client of a connection, which retire closes.
func (l *ledger) adopt(conn *coreConn) *callers {
	c := &callers{driver.New(conn), conn}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = map[*callers]struct{}{}
	}
	l.open[c] = struct{}{}
	return c
}

// retire closes a connection and keeps its counts.
func (l *ledger) retire(conn *callers) {
	_ = conn.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, conn)
	l.past.add(conn.conn)
}

func (l *ledger) sum() Counters {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.past
	for conn := range l.open {
		n.add(conn.conn)
	}
	return n
}

// Counters returns what the client has done. Sessions count for themselves.
func (c *Client) Counters() Counters {
	n := c.ledger.sum()
	n.Reconnects, n.Retries = c.reconnects.Load(), c.retries.Load()
	return n
}

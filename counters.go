package remora

import "github.com/remora-kv/remora/fabric"

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

// Counters returns what the client has done. Sessions count for themselves.
func (c *Client) Counters() Counters {
	n := Counters(c.conns.Counters())
	n.Retries = c.retries.Load()
	return n
}

package rfp

import (
	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/rpc/wire"
)

// Results is the frame into which ServeMany writes results.
type Results struct {
	frame []byte
	fill  int
	added int
}

// Room returns memory for the next result, at least 64 bytes; nil when there is less
// in the frame.
func (r *Results) Room() []byte {
	at := r.fill + wire.EntryHeader
	if at > len(r.frame)-smallRoom {
		return nil
	}
	return r.frame[at:]
}

// Add ends the next result: the first n bytes of Room.
func (r *Results) Add(n int) {
	wire.PutEntry(r.frame[r.fill:], n, 0)
	r.fill += wire.EntryHeader + n
	r.added++
}

// serveMany has messages of a batch served in one go, the first of which is message at,
// and returns how many. most is how many may be left in the frame.
func (c *core) serveMany(s *session, class uint8, at, most int) int {
	batch := c.batch[at-1 : min(c.whole, at-1+most)]
	if len(batch) == 0 {
		return 0
	}
	c.Call.Announced = at
	c.results = Results{frame: c.payloadOf(s), fill: c.fill}
	n, long := c.callMany(batch)
	c.fill = c.results.fill
	if long != nil {
		n++
		c.settle(s, class, long, nil)
	}
	fence.Count(&c.Calls, uint64(n))
	s.calls += uint64(n)
	return n
}

// callMany calls ServeMany. Where that panics, the messages whose results were added are
// served, and the next one is left to Serve, whose panics fail a call (Catch).
func (c *core) callMany(batch [][]byte) (n int, long []byte) {
	defer func() {
		if recover() != nil {
			c.Call.After = nil
			n, long = c.results.added, nil
		}
	}()
	return c.server.cfg.ServeMany(&c.Call, batch, &c.results)
}

// lengthOf is how many bytes of a frame messages take, from message at on.
func (c *core) lengthOf(at, n int) int {
	length := n * wire.EntryHeader
	for _, msg := range c.batch[at-1 : at-1+n] {
		length += len(msg)
	}
	return length
}

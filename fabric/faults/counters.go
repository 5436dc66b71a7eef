package faults

import (
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
)

// ledger is what the inner device's counters do not know: messages that the
// network lost or made, and failures that it caused.
type ledger struct {
	out      [fabric.NumOps]atomic.Int64
	outBytes atomic.Int64
	dropped  atomic.Uint64
	errors   atomic.Uint64
}

// sent counts a message that the inner device did not see (sign 1), or saw
// though nobody sent it (sign -1).
func (l *ledger) sent(op fabric.Op, bytes int, sign int64) {
	l.out[op].Add(sign)
	l.outBytes.Add(sign * int64(bytes))
}

// correct returns what the inner device counted, corrected.
func (l *ledger) correct(c fabric.Counters) fabric.Counters {
	for op := range c.Out {
		c.Out[op] += uint64(l.out[op].Load())
	}
	c.OutBytes += uint64(l.outBytes.Load())
	c.Dropped += l.dropped.Load()
	c.Errors += l.errors.Load()
	return c
}

// lost counts a message that vanished.
func (q *queuePair) countLost(op fabric.Op, bytes int) {
	for _, l := range [...]*ledger{&q.ledger, &q.dev.past} {
		l.sent(op, bytes, 1)
		l.dropped.Add(1)
	}
}

// countCopy counts a message that the network made; the inner device will
// take it for one of ours.
func (q *queuePair) countCopy(op fabric.Op, bytes int) {
	for _, l := range [...]*ledger{&q.ledger, &q.dev.past} {
		l.sent(op, bytes, -1)
	}
}

// countError counts a failure that the plan caused.
func (q *queuePair) countError() {
	for _, l := range [...]*ledger{&q.ledger, &q.dev.past} {
		l.errors.Add(1)
	}
}

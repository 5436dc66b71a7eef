package faults

import "github.com/remora-kv/remora/fabric"

// Poll implements fabric.CQ.
func (c *cq) Poll(out []fabric.Completion) int {
	if c.fresh.Load() {
		c.adopt()
	}
	if len(c.busy) > 0 {
		c.progress(c.dev.clock.Now())
	}
	c.harvest(len(out))
	return c.take(out)
}

// harvest takes completions from the inner queue until want are here or there
// are no more.
func (c *cq) harvest(want int) {
	for c.tail-c.head < uint64(want) {
		n := c.inner.Poll(c.scratch)
		for i := range c.scratch[:n] {
			c.sort(&c.scratch[i])
		}
		if n < len(c.scratch) {
			return
		}
	}
}

// sort deals with one completion of the inner queue.
func (c *cq) sort(done *fabric.Completion) {
	if done.Op == fabric.OpRecv {
		c.push(item{c: *done})
		return
	}
	if c.qps[done.QPN] == nil && c.fresh.Load() {
		c.adopt() // made and used within this very call
	}
	if q := c.qps[done.QPN]; q != nil {
		q.completed(done)
	}
}

// take moves completions out and frees the places they stand for (F4).
func (c *cq) take(out []fabric.Completion) int {
	n := 0
	for n < len(out) && c.head != c.tail {
		it := c.at(c.head)
		out[n] = it.c
		if it.q != nil {
			it.q.head = it.seq + 1
			it.q = nil
		}
		c.head++
		n++
	}
	return n
}

// completed takes note of a completion of the inner queue pair.
func (q *queuePair) completed(c *fabric.Completion) {
	if c.ID&copyTag != 0 {
		q.copies.done(int(c.ID &^ copyTag))
		return
	}
	e := q.entry(c.ID)
	e.waits, e.status, e.bytes = false, c.Status, c.Bytes
	q.retire()
}

// retire reports requests that are over, in their order (F2).
func (q *queuePair) retire() {
	for q.retired < q.tail {
		e := q.entry(q.retired)
		if e.waits {
			return
		}
		q.conclude(e)
		if e.signaled || e.status != fabric.StatusOK {
			q.send.push(item{q: q, seq: q.retired, c: fabric.Completion{
				ID: e.id, Bytes: e.bytes, QPN: q.num, Op: e.op, Status: e.status,
			}})
		}
		q.retired++
	}
}

// conclude settles the status of the request that is the next to be over.
func (q *queuePair) conclude(e *entry) {
	switch {
	case q.failed:
		if e.status == fabric.StatusOK {
			e.status = fabric.StatusFlushed
		}
	case e.status != fabric.StatusOK: // failed by itself, or by Cut
		q.failed = true
		if q.lost.Load() && e.status == fabric.StatusFlushed {
			e.status = fabric.StatusPeerLost
			q.record(&handCut, q.retired)
			q.countError()
		}
	case e.fail != fabric.StatusOK:
		q.failed = true
		e.status = e.fail
		q.shatter(e)
	}
}

package direct

import (
	"fmt"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/affinity"
	"github.com/remora-kv/remora/internal/fence"
)

// outcome is a fabric.Status, or stalled: the request cannot execute yet.
type outcome uint8

const (
	done_   = outcome(fabric.StatusOK)
	stalled = outcome(0xff)
)

// Post implements fabric.QP.
func (q *QP) Post(wrs []fabric.WR) (n int, err error) {
	for n < len(wrs) {
		if n += q.burst(wrs[n:]); n == len(wrs) {
			break
		}
		w := &wrs[n]
		if !q.Ready() {
			n, err = q.postBroken(wrs, n)
			q.publish()
			return n, err
		}
		if q.sendPosted-q.sendRetired >= q.sendDepth {
			q.publish()
			return n, fabric.ErrQueueFull
		}
		if !q.plain(w) {
			if err := fabric.ValidateWR(w, q.transport, q.domain, &q.limits); err != nil {
				q.publish()
				return n, &fabric.PostError{Index: n, Err: err}
			}
			if w.Local.Len != 0 {
				q.known = w.Local.Region
			}
		}
		q.start(w)
		n++
	}
	q.publish()
	return n, nil
}

// plain reports whether a request need not be validated at length: one segment
// of the region that was used last, with an operation that every connected
// transport has, or READ.
func (q *QP) plain(w *fabric.WR) bool {
	s := &w.Local
	return s.Region == q.known && s.Region != nil && len(w.More) == 0 &&
		(w.Op == fabric.OpWrite || w.Op == fabric.OpSend || w.Op == fabric.OpRead && q.transport == fabric.RC) &&
		q.transport != fabric.UD && s.Len >= 0 && s.Off >= 0 && s.Off <= s.Region.Len()-s.Len &&
		(w.Flags&fabric.FlagInline == 0 && s.Len <= q.limits.MaxMessage || s.Len <= q.limits.MaxInline && w.Op != fabric.OpRead)
}

// start executes a request that is right in itself, or puts it off.
func (q *QP) start(w *fabric.WR) {
	if q.backlog.len() != 0 {
		q.putOff(w, 0)
		return
	}
	sent := 0
	res := q.execute(w, nil, &sent)
	if res == stalled {
		q.putOff(w, sent)
		return
	}
	q.sendPosted++
	if res == done_ && w.Flags&fabric.FlagSignaled == 0 {
		return
	}
	q.completeSend(w, fabric.Status(res), q.sendPosted)
}

// completeSend ends a request whose completion frees the queue up to retire.
func (q *QP) completeSend(w *fabric.WR, st fabric.Status, retire uint64) {
	if st == fabric.StatusOK && w.Flags&fabric.FlagSignaled == 0 {
		return
	}
	n := w.Local.Len
	if len(w.More) != 0 {
		n = w.Bytes()
	}
	d := q.send.push(q, retire, w.ID, w.Op, st, n)
	if st != fabric.StatusOK && st != fabric.StatusFlushed {
		q.breakNow(d)
	}
}

// postBroken flushes what is posted to a queue pair that is not ready.
func (q *QP) postBroken(wrs []fabric.WR, from int) (int, error) {
	if q.State() == fabric.StateClosed {
		return from, fmt.Errorf("fabric: queue pair %d: %w", q.num, fabric.ErrClosed)
	}
	q.settle()
	for i := from; i < len(wrs); i++ {
		if q.sendPosted-q.sendRetired >= q.sendDepth {
			return i, fabric.ErrQueueFull
		}
		q.sendPosted++
		q.completeSend(&wrs[i], fabric.StatusFlushed, q.sendPosted)
	}
	return len(wrs), nil
}

// publish shows the peer what was put into the ring.
func (q *QP) publish() {
	if q.out.tail == q.out.published {
		return
	}
	switch q.out.publish() {
	case armedClosed:
		q.takeBack()
	case armedAll, armedSolicited:
		q.in.tell(affinity.Here()) // a peer that wakes will soon want to know
	}
	q.shown = q.sendPosted
}

// takeBack ends the queue pair because the peer has settled: the messages that
// were published too late must not have completed with success (G8).
func (q *QP) takeBack() {
	c := q.send
	for i := c.head; i != c.tail; i++ {
		d := &c.ring[i&c.mask]
		op := fabric.Op(d.kind)
		if d.qp == q && d.retire > q.shown && (op == fabric.OpSend || op == fabric.OpWriteImm) && d.kind == uint64(op) {
			d.kind |= uint64(fabric.StatusFlushed) << 8
			d.bytesImm = 0
		}
	}
	if q.fall(fmt.Errorf("fabric: queue pair %d: %w", q.num, fabric.ErrDisconnected)) {
		q.tellPeer()
	}
	q.settle()
}

// execute performs a request. inline, when not nil, is its data. sent says
// how many bytes of a message have gone out already, and is moved on.
func (q *QP) execute(w *fabric.WR, inline []byte, sent *int) outcome {
	switch w.Op {
	case fabric.OpRead:
		return q.read(w)
	case fabric.OpWrite:
		return q.write(w, inline)
	case fabric.OpWriteImm:
		return q.writeImm(w, inline)
	case fabric.OpFetchAdd, fabric.OpCmpSwap:
		return q.atomic(w)
	default:
		if q.transport == fabric.UD {
			return q.sendGram(w, inline)
		}
		return q.sendMessage(w, inline, sent)
	}
}

// target returns the remote memory of a one-sided request.
func (q *QP) target(w *fabric.WR, n int) ([]byte, outcome) {
	if win := q.window; win != nil && win.Key == w.Remote.Key && n != 0 {
		if mem, ok := win.reach(w.Op, w.Remote.Addr, n); ok {
			return mem, done_
		}
	}
	return q.farTarget(w, n)
}

// farTarget is target for a window that is not the one used last.
func (q *QP) farTarget(w *fabric.WR, n int) ([]byte, outcome) {
	if n == 0 {
		return nil, done_
	}
	win, later := q.find(w.Remote.Key)
	if later {
		return nil, stalled
	}
	if win != nil {
		if mem, ok := win.reach(w.Op, w.Remote.Addr, n); ok {
			q.window = win
			return mem, done_
		}
	}
	return nil, outcome(fabric.StatusRemoteAccess)
}

func (q *QP) read(w *fabric.WR) outcome {
	n := w.Local.Len
	if len(w.More) != 0 {
		n = w.Bytes()
	}
	mem, res := q.target(w, n)
	if res != done_ {
		return res
	}
	if n == w.Local.Len {
		fence.CopyIn(w.Local.Bytes(), mem)
	} else {
		scatterRead(w, mem)
	}
	q.oneSided(w.Op, 1, n)
	return done_
}

func scatterRead(w *fabric.WR, mem []byte) {
	fence.CopyIn(w.Local.Bytes(), mem[:w.Local.Len])
	mem = mem[w.Local.Len:]
	for i := range w.More {
		fence.CopyIn(w.More[i].Bytes(), mem[:w.More[i].Len])
		mem = mem[w.More[i].Len:]
	}
}

func (q *QP) write(w *fabric.WR, inline []byte) outcome {
	n := w.Bytes()
	mem, res := q.target(w, n)
	switch res {
	case done_:
		place(mem, w, inline)
		q.oneSided(w.Op, 1, n)
		return done_
	case stalled:
		return stalled
	}
	return q.refusedWrite(res)
}

// refusedWrite ends a WRITE without rights: on UC without an error.
func (q *QP) refusedWrite(res outcome) outcome {
	if q.transport == fabric.UC {
		q.stats.dropped.Add(1)
		return done_
	}
	return res
}

// place writes the data of a request into remote memory, in address order.
func place(mem []byte, w *fabric.WR, inline []byte) {
	if inline != nil {
		fence.CopyOut(mem, inline)
		return
	}
	fence.CopyOut(mem, w.Local.Bytes())
	if len(w.More) == 0 {
		return
	}
	mem = mem[w.Local.Len:]
	for i := range w.More {
		fence.CopyOut(mem, w.More[i].Bytes())
		mem = mem[w.More[i].Len:]
	}
}

func (q *QP) atomic(w *fabric.WR) outcome {
	mem, res := q.target(w, 8)
	if res != done_ {
		return res
	}
	word := word64(mem)
	var old uint64
	if w.Op == fabric.OpFetchAdd {
		old = word.Add(w.Operand) - w.Operand
	} else {
		for {
			if old = word.Load(); old != w.Compare || word.CompareAndSwap(old, w.Operand) {
				break
			}
		}
	}
	putWord(w.Local.Bytes(), old)
	q.oneSided(w.Op, 1, 8)
	return done_
}

// oneSided counts n one-sided operations of bytes in all, here and for the peer.
func (q *QP) oneSided(op fabric.Op, n, bytes int) {
	q.executed(op, n, bytes)
	q.out.count(op, n, bytes)
}

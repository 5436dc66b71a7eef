package tcp

import (
	"fmt"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
)

// enqueue appends requests to the send queue, as many as fit and are right.
func (q *queues) enqueue(wrs []fabric.WR) (int, error) {
	for i := range wrs {
		w := &wrs[i]
		if q.sendPosted-q.sendFreed >= q.sendDepth {
			return i, fabric.ErrQueueFull
		}
		if err := fabric.ValidateWR(w, q.transport, q.domain, &q.limits); err != nil {
			return i, &fabric.PostError{Index: i, Err: err}
		}
		s := q.send(q.sendPosted)
		s.id, s.local, s.remote = w.ID, w.Local, w.Remote
		s.op, s.flags, s.imm = w.Op, w.Flags, w.Imm
		s.compare, s.operand = w.Compare, w.Operand
		s.held = false
		s.bytes = uint32(w.Local.Len)
		s.more = s.more[:0]
		if len(w.More) != 0 {
			s.more = append(s.more, w.More...)
			s.bytes = uint32(w.Bytes())
		}
		q.sendPosted++
	}
	return len(wrs), nil
}

// hold takes the data of inline requests that could not be written yet (G14).
func (q *queues) hold() {
	for i := q.sendNext; i != q.sendPosted; i++ {
		s := q.send(i)
		if s.flags&fabric.FlagInline == 0 || s.held || s.bytes == 0 {
			continue
		}
		if cap(s.data) < int(s.bytes) {
			s.data = make([]byte, q.limits.MaxInline)
		}
		s.data = s.data[:s.bytes]
		s.gather(s.data, 0)
		s.held = true
	}
}

// gather copies the data of a request from byte off on into dst.
func (s *sendSlot) gather(dst []byte, off uint32) {
	if s.held {
		copy(dst, s.data[off:])
		return
	}
	base.Gather(dst, &s.local, s.more, int(off))
}

func (q *queues) errClosed() error {
	return fmt.Errorf("fabric: queue pair %d: %w", q.num, fabric.ErrClosed)
}

// accept begins a Post: it appends requests, and flushes them when the queue
// pair is broken (G11). live says that they are to be executed.
func (q *queues) accept(wrs []fabric.WR) (n int, live bool, err error) {
	if q.State() == fabric.StateClosed {
		return 0, false, q.errClosed()
	}
	n, err = q.enqueue(wrs)
	if !q.Ready() {
		q.flush(0, 0)
		return n, false, err
	}
	return n, true, err
}

// Post implements fabric.QP: it writes frames into the out-buffer and hands
// them to the kernel with one system call.
func (q *conn) Post(wrs []fabric.WR) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n, live, err := q.accept(wrs)
	if !live {
		return n, err
	}
	q.offerCredit()
	q.transmit()
	if q.sendNext != q.sendPosted {
		q.hold()
	}
	return n, err
}

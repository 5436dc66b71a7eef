package tcp

import (
	"github.com/remora-kv/remora/fabric"
)

// enqueueRecv appends receives, as many as fit and are right.
func (q *queues) enqueueRecv(wrs []fabric.RecvWR) (int, error) {
	for i := range wrs {
		w := &wrs[i]
		if q.recvPosted-q.recvFreed >= q.recvDepth {
			return i, fabric.ErrQueueFull
		}
		if err := fabric.ValidateRecv(w, q.domain, &q.limits); err != nil {
			return i, &fabric.PostError{Index: i, Err: err}
		}
		q.recv(q.recvPosted).Set(w)
		q.recvPosted++
	}
	return len(wrs), nil
}

// acceptRecv begins a PostRecv likewise.
func (q *queues) acceptRecv(wrs []fabric.RecvWR) (n int, live bool, err error) {
	if q.State() == fabric.StateClosed {
		return 0, false, q.errClosed()
	}
	n, err = q.enqueueRecv(wrs)
	if !q.Ready() {
		q.flush(0, 0)
		return n, false, err
	}
	return n, true, err
}

// PostRecv implements fabric.QP.
func (q *conn) PostRecv(wrs []fabric.RecvWR) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n, live, err := q.acceptRecv(wrs)
	if live && n > 0 && q.peerStarves {
		q.peerStarves, q.creditDue = false, true
		q.transmit()
	}
	return n, err
}

//go:build rdma

package verbs

import (
	"github.com/remora-kv/remora/fabric"
)

// PostRecv implements fabric.QP.
func (q *QP) PostRecv(wrs []fabric.RecvWR) (int, error) {
	if !q.Ready() {
		if err := q.prepare(); err != nil {
			return 0, err
		}
	}
	for n := 0; ; {
		k, err := q.fillRecv(wrs[n:], n)
		posted, perr := q.hand(k)
		n += posted
		if perr != nil {
			return n, perr
		}
		if err != nil || n == len(wrs) {
			return n, err
		}
	}
}

// fillRecv writes receives to the staging area, as many as fit there and are right.
func (q *QP) fillRecv(wrs []fabric.RecvWR, before int) (int, error) {
	d := q.recv.staging
	for i := range wrs {
		if i == chainMax {
			return i, nil
		}
		slot := q.recvPosted + uint64(i)
		if slot-q.recvRetired >= q.recvDepth {
			return i, fabric.ErrQueueFull
		}
		w := &wrs[i]
		if err := fabric.ValidateRecv(w, q.domain, &q.lim); err != nil {
			return i, &fabric.PostError{Index: before + i, Err: err}
		}
		x := &d.recv[i]
		x.segs, _ = d.gather(i, &w.Local, w.More)
		x.id = q.recvID | slot&slotMask
		q.recvs[slot&q.recvMask] = w.ID
		if q.shadow != nil {
			q.shadow[slot&q.recvMask].copy(d, i)
		}
	}
	return len(wrs), nil
}

// hand gives the first n receives of the staging area to the adapter, or keeps them to
// be flushed here (I5).
func (q *QP) hand(n int) (int, error) {
	if n == 0 {
		return 0, nil
	}
	if q.settled {
		q.recvPosted += uint64(n)
		if !q.isLate {
			q.isLate = true
			q.recv.late = append(q.recv.late, q)
		}
		return n, nil
	}
	if q.owed != 0 { // it gets them when it is revived
		q.recvPosted += uint64(n)
		q.recvHanded = q.recvPosted
		q.countPosted(n)
		return n, nil
	}
	posted, errno := q.hw.postRecv(q.recv.staging, n)
	q.recvPosted += uint64(posted)
	q.recvHanded = q.recvPosted
	q.countPosted(posted)
	if errno != 0 {
		return posted, q.refused(errno)
	}
	return posted, nil
}

package base

import "github.com/remora-kv/remora/fabric"

// Recv is a posted receive. Its places in a receive queue are reused.
type Recv struct {
	ID    uint64
	Size  int // of its memory
	local fabric.Seg
	more  []fabric.Seg
}

// Set makes r the receive of w.
func (r *Recv) Set(w *fabric.RecvWR) {
	r.ID, r.local, r.Size = w.ID, w.Local, w.Local.Len
	r.more = r.more[:0]
	if len(w.More) != 0 {
		r.more = append(r.more, w.More...)
		r.Size = w.Bytes()
	}
}

// Scatter copies b to byte off of the receive and onward.
func (r *Recv) Scatter(off int, b []byte) { Scatter(&r.local, r.more, off, b) }

package base

import (
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
)

// Gather fills dst with the bytes of first and more from byte off on. Memory that peers may be
// writing to is read in their presence.
func Gather(dst []byte, first *fabric.Seg, more []fabric.Seg, off int) {
	for seg, i := first, 0; len(dst) != 0; seg, i = &more[i], i+1 {
		if off < seg.Len {
			src := seg.Bytes()[off:]
			n := min(len(src), len(dst))
			if seg.Region.Access() == 0 {
				copy(dst, src)
			} else {
				fence.CopyIn(dst[:n], src[:n])
			}
			if dst = dst[n:]; len(dst) == 0 {
				return
			}
			off = seg.Len
		}
		off -= seg.Len
	}
}

// Scatter is the inverse of Gather: it copies b to byte off of first and more, and onward.
func Scatter(first *fabric.Seg, more []fabric.Seg, off int, b []byte) {
	for seg, i := first, 0; len(b) != 0; seg, i = &more[i], i+1 {
		if off < seg.Len {
			dst := seg.Bytes()[off:]
			n := min(len(dst), len(b))
			if seg.Region.Access() == 0 {
				copy(dst, b)
			} else {
				fence.CopyOut(dst[:n], b[:n])
			}
			if b = b[n:]; len(b) == 0 {
				return
			}
			off = seg.Len
		}
		off -= seg.Len
	}
}

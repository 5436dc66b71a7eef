package extent

import (
	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/store"
)

// Holds reports whether b is a view of the memory.
func (s *Space) Holds(b []byte) bool { return Within(s.mem, b) }

// Fill writes the Record of an item at offset body of a block that was taken. It trims the
// block and moves the hand past it. Key and value may be views of the memory, even of this
// block: Fill copies the value first, then the key, of at most 64 KiB, and then trims.
func (h *Heap) Fill(block, body uint64, k store.Key, e *store.Entry) {
	at := block + body + BodyData
	switch {
	case !h.Holds(k.Bytes):
		h.fill(at, k.Bytes, e.Value)
	case len(k.Bytes) <= shortKey:
		var aside [shortKey]byte
		h.fill(at, aside[:copy(aside[:], k.Bytes)], e.Value)
	default:
		h.fillLong(at, k.Bytes, e.Value)
	}
	h.Trim(block, RoundUp(body+BodyData+uint64(len(k.Bytes))+uint64(len(e.Value))))
	h.moveHand(block, h.Next(block))
	h.SetHeader(block+body, k, e)
}

// fill writes the value first, since the value may overlap its destination. The key must not
// be a view.
func (s *Space) fill(at uint64, key, value []byte) {
	s.Write(at+uint64(len(key)), value)
	fence.CopyOut(s.mem[at:], key)
}

const (
	// shortKey is the longest key that Fill copies to its own stack frame.
	shortKey = 128
	maxKey   = 1 << 16
)

// fillLong has a stack frame for the longest key, so that other calls need none.
//
//go:noinline
func (s *Space) fillLong(at uint64, key, value []byte) {
	var aside [maxKey]byte
	s.fill(at, aside[:copy(aside[:], key)], value)
}

// Write copies b into a block that was taken. b may be a view of the memory and overlap its
// destination.
func (s *Space) Write(at uint64, b []byte) {
	if s.Holds(b) {
		shift(s.mem[at:at+uint64(len(b))], b)
	} else {
		fence.CopyOut(s.mem[at:], b)
	}
}

// shiftPiece is the number of bytes that shift copies at a time.
const shiftPiece = 512

// shift is fence.CopyOut from a slice of the same length that may overlap the destination.
// It copies pieces through the stack, in the direction that overwrites no piece before it
// is copied.
func shift(dst, src []byte) {
	var piece [shiftPiece]byte
	if Within(dst, src) {
		for len(src) > 0 {
			n := copy(piece[:], src)
			fence.CopyOut(dst, piece[:n])
			dst, src = dst[n:], src[n:]
		}
		return
	}
	for n := len(src); n > 0; {
		from := max(0, n-shiftPiece)
		m := copy(piece[:], src[from:n])
		fence.CopyOut(dst[from:], piece[:m])
		n = from
	}
}

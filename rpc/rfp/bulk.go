package rfp

// Long messages travel in pieces through an area of memory of their own, the
// bulk area, one for each direction. The frames say where a piece lies
// (wire.Piece), and that a frame was answered, or its result taken, frees the
// piece. So a long message is copied in large steps, both ends at the same time,
// and short ones pay nothing for it.

// area is the sender's view of a bulk area: a ring of pieces, each of which lies
// in one run of memory. Positions count on forever.
type area struct {
	size       int
	head, tail uint64 // of the bytes in use
	touched    int    // how much of it was used ever
}

// take finds n bytes in the first part of the area, which is so long, and returns where they are: where
// a line begins. So who needs little touches little.
func (a *area) take(n, part int) (at int, ok bool) {
	n = roundUp(n, lineSize)
	at = int(a.head % uint64(a.size))
	skip := 0
	if at+n > part {
		skip, at = a.size-at, 0
	}
	if a.head == a.tail { // nothing is in use, so skipped bytes need not be kept
		a.head += uint64(skip)
		a.tail, skip = a.head, 0
	}
	if a.head+uint64(skip+n)-a.tail > uint64(a.size) {
		return 0, false
	}
	a.head += uint64(skip + n)
	a.touched = max(a.touched, at+n)
	return at, true
}

// free gives back all that was taken before the head was at end.
func (a *area) free(end uint64) { a.tail = max(a.tail, end) }

// grow returns a buffer of length 0 for a message of total bytes.
func grow(buf []byte, total int) []byte {
	if cap(buf) < total {
		return make([]byte, 0, total)
	}
	return buf[:0]
}

// keepLarge is the largest buffer that is kept for the next long message: memory
// that is new each time costs more than what is copied into it.
const keepLarge = 4 << 20

// spares are buffers for long messages, unused at the moment.
type spares struct{ bufs [][]byte }

// maxSpares bounds how many are kept.
const maxSpares = 4

// borrow returns a buffer of length 0 for total bytes.
func (s *spares) borrow(total int) []byte {
	for i := len(s.bufs) - 1; i >= 0; i-- {
		if b := s.bufs[i]; cap(b) >= total {
			s.bufs = append(s.bufs[:i], s.bufs[i+1:]...)
			return b
		}
	}
	return make([]byte, 0, total)
}

// giveBack takes a buffer that is not needed any more. Of too many the smallest
// goes.
func (s *spares) giveBack(b []byte) {
	if cap(b) == 0 || cap(b) > keepLarge {
		return
	}
	if len(s.bufs) < maxSpares {
		s.bufs = append(s.bufs, b[:0])
		return
	}
	least := 0
	for i := range s.bufs {
		if cap(s.bufs[i]) < cap(s.bufs[least]) {
			least = i
		}
	}
	if cap(s.bufs[least]) < cap(b) {
		s.bufs[least] = b[:0]
	}
}

package mica

// ring is the log, between logStart and the index. Items lie in [tail, head). If it is
// wrapped they lie in [tail, end), then in [logStart, head), with a gap between
// head and tail.
type ring struct {
	head, tail, end int
	wrapped         bool

	dead int // bytes of dead items
}

func (r *ring) reset() { *r = ring{head: logStart, tail: logStart} }

// top returns the end of the memory that the log uses: the index may grow down to it.
func (r *ring) top() int {
	if r.wrapped {
		return r.end
	}
	return r.head
}

// turn continues the log at its start, with a gap up to the oldest item.
func (r *ring) turn() {
	r.end, r.head, r.wrapped = r.head, logStart, true
	r.meet()
}

// pass frees the memory of the oldest item.
func (r *ring) pass(size int) {
	r.tail += size
	r.meet()
}

// meet ends the wrapped state when the last item before the end was passed.
func (r *ring) meet() {
	if r.wrapped && r.tail == r.end {
		r.tail, r.wrapped = logStart, false
	}
}

// empty reports whether the log has no items, dead or live.
func (r *ring) empty() bool { return !r.wrapped && r.tail == r.head }

// spans returns the ranges of offsets that hold items, the oldest first.
func (r *ring) spans() [2][2]int {
	if r.wrapped {
		return [2][2]int{{r.tail, r.end}, {logStart, r.head}}
	}
	return [2][2]int{{r.tail, r.head}, {}}
}

// endOf returns where the range of offsets ends that the item at an offset lies in.
func (r *ring) endOf(at int) int {
	if r.wrapped && at >= r.tail {
		return r.end
	}
	return r.head
}

// age orders the offsets of items: older items have smaller ages.
func (r *ring) age(at int) int {
	if r.wrapped && at < r.tail {
		return at + r.end
	}
	return at
}

package mica

// ring is where the items are, between logStart and the index. While it is not
// wrapped they lie in [tail, head); when it is, in [tail, end) and behind those
// in [logStart, head), with a gap between head and tail.
type ring struct {
	head, tail, end int
	wrapped         bool

	dead int // bytes of items in it that no entry refers to
}

func (r *ring) reset() { *r = ring{head: logStart, tail: logStart} }

// top is the end of the memory that the log uses: the index may grow down to it.
func (r *ring) top() int {
	if r.wrapped {
		return r.end
	}
	return r.head
}

// turn begins again at the start, with a gap up to the oldest item.
func (r *ring) turn() {
	r.end, r.head, r.wrapped = r.head, logStart, true
	r.meet()
}

// pass gives the memory of the oldest item back.
func (r *ring) pass(size int) {
	r.tail += size
	r.meet()
}

// meet ends the wrapped state when the last item before the end is gone.
func (r *ring) meet() {
	if r.wrapped && r.tail == r.end {
		r.tail, r.wrapped = logStart, false
	}
}

// empty says whether there is nothing in the log, dead or live.
func (r *ring) empty() bool { return !r.wrapped && r.tail == r.head }

// spans are the ranges of offsets that hold items, the oldest first.
func (r *ring) spans() [2][2]int {
	if r.wrapped {
		return [2][2]int{{r.tail, r.end}, {logStart, r.head}}
	}
	return [2][2]int{{r.tail, r.head}, {}}
}

// age orders offsets of items: what is older has less of it.
func (r *ring) age(at int) int {
	if r.wrapped && at < r.tail {
		return at + r.end
	}
	return at
}

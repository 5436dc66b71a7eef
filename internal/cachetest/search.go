package cachetest

import "math"

// search looks for an order of the operations on one key that keeps to their times
// and explains their results.
//
// An operation may come next if no other one that is left ended before it began. In
// general all of these must be tried, and their number grows with the number of
// clients that wait at the same time: on a busy machine, all of them. Two facts keep
// the search short:
//
//   - An operation that may come next, whose result fits and which changes nothing
//     can be taken at once. For if there is an order of all that are left, taking
//     this one out of it and putting it first gives another: it keeps to the times,
//     and no other operation sees a difference. An operation of unknown result is the
//     exception, since it might change something later.
//   - Of the changes that were told their versions, only the next one can be next
//     (see placed), and only when nothing is left that belongs before it.
//
// So what is tried is that change, deletions, and changes that were told nothing.
type search struct {
	ops    []Operation // by their start
	places []*place
	next   []int // of a list of those that are left; the last one is the head
	prev   []int
	left   int   // how many that are left have ended
	before []int // how many that are left belong behind as many changes that were told a version

	state   entry
	order   []int // those taken, in their order
	longest []int
	taken   []byte // a bit for each
	dead    map[dead]struct{}
}

// dead is a point from which no order goes on.
type dead struct {
	taken string
	state entry
}

func newSearch(ops []Operation) *search {
	n := len(ops)
	s := &search{ops: ops, next: make([]int, n+1), prev: make([]int, n+1), taken: make([]byte, (n+7)/8), dead: make(map[dead]struct{})}
	versions := told(ops)
	s.before = make([]int, len(versions)+1)
	for i := range n + 1 {
		s.next[i], s.prev[i] = (i+1)%(n+1), (i+n)%(n+1)
	}
	for i := range ops {
		s.places = append(s.places, placed(&ops[i], versions))
		s.count(i, 1)
	}
	return s
}

// run reports whether there is an order.
func (s *search) run() bool {
	from := len(s.order)
	for s.takeReads() {
	}
	if len(s.order) > len(s.longest) {
		s.longest = append(s.longest[:0], s.order...)
	}
	if s.left == 0 {
		return true
	}
	here := dead{string(s.taken), s.state}
	if _, known := s.dead[here]; !known {
		for _, i := range s.candidates() {
			state := s.state
			s.state, _ = s.try(i)
			s.take(i)
			if s.run() {
				return true
			}
			s.untake()
			s.state = state
		}
		s.dead[here] = struct{}{}
	}
	for len(s.order) > from {
		s.untake()
	}
	return false
}

// takeReads takes what may come next and changes nothing, and reports whether there
// was any: then more may have become possible.
func (s *search) takeReads() (some bool) {
	s.each(func(i int) {
		if s.ops[i].Outcome.Status == Unknown {
			return
		}
		if next, ok := s.try(i); ok && next == s.state {
			s.take(i)
			some = true
		}
	})
	return some
}

// candidates returns what may come next and changes something.
func (s *search) candidates() []int {
	var found []int
	s.each(func(i int) {
		if next, ok := s.try(i); ok && next != s.state {
			found = append(found, i)
		}
	})
	return found
}

// each calls visit, which may take it, for every operation that may come next.
func (s *search) each(visit func(i int)) {
	head := len(s.ops)
	first := int64(math.MaxInt64) // end of those seen
	for i := s.next[head]; i != head && s.ops[i].Start <= first; i = s.next[i] {
		first = min(first, s.ops[i].End)
		visit(i)
	}
}

// try returns the state behind an operation, and whether its result fits.
func (s *search) try(i int) (entry, bool) {
	p := s.places[i]
	if !p.fits(s.state.told) {
		return s.state, false
	}
	if p.counts && s.before[p.before] > 1 {
		return s.state, false // what belongs before it would have no place any more
	}
	next, ok := step(s.state, p.Call, &s.ops[i].Outcome)
	if p.counts {
		next.told++
	}
	return next, ok
}

// take takes an operation off the list; its links stay, for untake.
func (s *search) take(i int) {
	s.next[s.prev[i]], s.prev[s.next[i]] = s.next[i], s.prev[i]
	s.taken[i/8] |= 1 << (i % 8)
	s.order = append(s.order, i)
	s.count(i, -1)
}

// untake puts the operation that was taken last back on the list.
func (s *search) untake() {
	i := s.order[len(s.order)-1]
	s.order = s.order[:len(s.order)-1]
	s.next[s.prev[i]], s.prev[s.next[i]] = i, i
	s.taken[i/8] &^= 1 << (i % 8)
	s.count(i, 1)
}

// count counts an operation that is on the list from now on, or not any more.
func (s *search) count(i, by int) {
	if s.ops[i].End != math.MaxInt64 {
		s.left += by
	}
	if b := s.places[i].before; b >= 0 {
		s.before[b] += by
	}
}

package cachetest

import "math"

// search looks for a linearization of the operations on one key: an order that
// respects real time and explains every result.
//
// An operation is a candidate for the next place if no remaining operation ended before
// it began. In general every candidate must be tried, and there can be as many as there
// are clients with a call in flight; on a busy machine that is every client. Two facts
// keep the search short:
//
//   - A candidate whose result fits and which leaves the state unchanged can be taken at
//     once: moving it to the front of any valid order gives another valid order. An
//     operation with an unknown result is excluded, because it may take effect later.
//   - Among the changes whose result contains a version, only the one with the lowest
//     remaining version can come next (see placed), and only after every operation that
//     must precede it.
//
// So the search branches only on that change, on deletions, and on changes without a known
// version.
type search struct {
	ops    []Operation // by their start
	places []*place    // of each operation among the versioned changes

	// A circular list of the remaining operations; index len(ops) is its sentinel.
	next, prev []int
	left       int   // number of remaining operations that have ended
	before     []int // before[k] counts the remaining operations that must follow exactly k versioned changes

	state   entry  // after the operations taken so far
	order   []int  // the operations taken so far
	taken   []byte // a bitmap of order
	longest []int  // the longest order that was reached
	dead    map[deadEnd]struct{}
}

// deadEnd is a point of the search from which no valid order goes on.
type deadEnd struct {
	taken string
	state entry
}

func newSearch(ops []Operation) *search {
	n := len(ops)
	s := &search{ops: ops, next: make([]int, n+1), prev: make([]int, n+1), taken: make([]byte, (n+7)/8), dead: make(map[deadEnd]struct{})}
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

// run reports whether all remaining operations that have ended can be ordered.
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
	here := deadEnd{string(s.taken), s.state}
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

// takeReads takes every candidate that leaves the state unchanged, and reports whether
// it took any; if so, others may have become candidates.
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

// candidates returns the candidates that change the state.
func (s *search) candidates() []int {
	var found []int
	s.each(func(i int) {
		if next, ok := s.try(i); ok && next != s.state {
			found = append(found, i)
		}
	})
	return found
}

// each calls visit for every candidate; visit may take it.
func (s *search) each(visit func(i int)) {
	head := len(s.ops)
	first := int64(math.MaxInt64) // earliest end so far
	for i := s.next[head]; i != head && s.ops[i].Start <= first; i = s.next[i] {
		first = min(first, s.ops[i].End)
		visit(i)
	}
}

// try returns the state after operation i, and whether its result fits.
func (s *search) try(i int) (entry, bool) {
	p := s.places[i]
	if !p.fits(s.state.told) {
		return s.state, false
	}
	if p.counts && s.before[p.before] > 1 {
		return s.state, false // an operation that must come before i is still left
	}
	next, ok := step(s.state, p.Call, &s.ops[i].Outcome)
	if p.counts {
		next.told++
	}
	return next, ok
}

// take removes operation i from the list; its links stay, for untake.
func (s *search) take(i int) {
	s.next[s.prev[i]], s.prev[s.next[i]] = s.next[i], s.prev[i]
	s.taken[i/8] |= 1 << (i % 8)
	s.order = append(s.order, i)
	s.count(i, -1)
}

// untake puts the operation taken last back on the list.
func (s *search) untake() {
	i := s.order[len(s.order)-1]
	s.order = s.order[:len(s.order)-1]
	s.next[s.prev[i]], s.prev[s.next[i]] = i, i
	s.taken[i/8] &^= 1 << (i % 8)
	s.count(i, 1)
}

// count adjusts the counters for operation i: by is 1 when it joins the list, -1 when it
// leaves.
func (s *search) count(i, by int) {
	if s.ops[i].End != math.MaxInt64 {
		s.left += by
	}
	if b := s.places[i].before; b >= 0 {
		s.before[b] += by
	}
}

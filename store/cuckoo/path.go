package cuckoo

// maxSteps is how many buckets are searched for a path to an empty one (S8).
const maxSteps = 128

// step is a bucket on a path: its entry could move to another of its choices. A path
// begins at a choice of the new key and ends at an empty bucket.
type step struct {
	bucket uint32
	parent int32 // index of the step before, -1 for none
}

// search holds the steps that were found, breadth first.
type search struct {
	steps [maxSteps]step
	n     int
}

func (s *search) add(bucket uint64, parent int) {
	if s.n < maxSteps {
		s.steps[s.n] = step{uint32(bucket), int32(parent)}
		s.n++
	}
}

// passes reports whether the path to a step contains a bucket. On a path without loops every
// entry moves once.
func (s *search) passes(at int, bucket uint64) bool {
	for ; at >= 0; at = int(s.steps[at].parent) {
		if uint64(s.steps[at].bucket) == bucket {
			return true
		}
	}
	return false
}

// vacant returns an empty bucket among the choices of a tag; if there is none it moves or
// removes entries. If ok is false, vacant has changed nothing but removed an expired item at
// most.
func (t *Table) vacant(tag uint64, now int64) (bucket uint64, ok bool) {
	c := t.choicesOf(tag)
	for _, bucket := range c {
		if t.isEmpty(bucket) {
			return bucket, true
		}
	}
	t.search.n = 0
	for _, bucket := range c {
		t.search.add(bucket, -1)
	}
	if empty, last, ok := t.emptyBehind(); ok {
		return t.shift(last, empty), true
	}
	at, ok := t.victim(now)
	if !ok {
		return 0, false
	}
	s := t.search.steps[at]
	t.drop(place{uint64(s.bucket), t.offsetAt(uint64(s.bucket))})
	return t.shift(int(s.parent), uint64(s.bucket)), true
}

// emptyBehind returns an empty bucket to which the entry of a step can move.
func (t *Table) emptyBehind() (empty uint64, last int, ok bool) {
	s := &t.search
	for at := 0; ; at++ { // the list grows
		if at == s.n {
			return 0, 0, false
		}
		bucket := uint64(s.steps[at].bucket)
		for _, other := range t.choicesOf(t.word(bucket, 2) >> lengthBits) {
			if t.isEmpty(other) {
				return other, at, true
			}
			if s.n < maxSteps && !s.passes(at, other) {
				s.add(other, at)
			}
		}
	}
}

// shift moves the entries of a path, beginning at its end, each into the bucket that is
// empty at that time. It returns the last bucket that became empty.
func (t *Table) shift(at int, empty uint64) uint64 {
	for at >= 0 {
		s := t.search.steps[at]
		t.moveEntry(uint64(s.bucket), empty)
		empty, at = uint64(s.bucket), int(s.parent)
	}
	return empty
}

// spares is how many used items on the paths a Put spares.
const spares = 16

// victim returns a step whose item may be removed: expired or, in a cache, not used.
func (t *Table) victim(now int64) (at int, ok bool) {
	s := &t.search
	if t.heap.Mortal > 0 {
		for at := range s.n {
			if t.record(t.offsetAt(uint64(s.steps[at].bucket))).Expired(now) {
				t.heap.Stats.Expired++
				return at, true
			}
		}
	}
	if !t.heap.Caches() {
		return 0, false
	}
	t.heap.Stats.Evicted++
	for at := range min(s.n, spares) {
		if !t.spare(t.offsetAt(uint64(s.steps[at].bucket))) {
			return at, true
		}
		t.heap.Stats.Rescued++
	}
	return 0, true
}

// offsetAt returns the offset of the item of a bucket.
func (t *Table) offsetAt(bucket uint64) uint64 {
	e := t.entryAt(bucket)
	return e.offset()
}

package keli

import (
	"sync/atomic"

	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/kvl"
)

// visited is the set of places of an image that a walk has come to. A place is 32 bytes of an
// area: no record is shorter, so at most one begins in each. The places of all areas are numbered
// consecutively, with a bit for each, in pages that are allocated on demand, because a directory
// may claim any length of an area.
//
// All workers of a walk share one set: the worker that sets a bit has found the place.
type visited struct {
	areas  []span
	pages  []atomic.Pointer[visitedPage]
	shared bool // by several workers
}

// span is the range of places of an area.
type span struct{ first, count uint64 }

// visitedPage is the bits of 16 MiB.
type visitedPage [1 << (pageShift - 6)]atomic.Uint64

const (
	placeShift = 5  // of an offset
	pageShift  = 19 // of the number of a place
	// maxPages bounds the pages to those of 1 TiB. Places behind that have no number, and would be
	// visited again.
	maxPages = 1 << 16
)

// newVisited returns an empty set for the areas of an image.
func newVisited(areas []area) *visited {
	v := &visited{areas: make([]span, len(areas))}
	const most = uint64(maxPages) << pageShift
	next := uint64(0)
	for i := range areas {
		v.areas[i] = span{next, min(uint64(max(areas[i].size, 0))>>placeShift+1, most-next)}
		next += v.areas[i].count
	}
	v.pages = make([]atomic.Pointer[visitedPage], next>>pageShift+1)
	return v
}

// number returns the number of a place. It returns false for a place outside of the areas, which
// fails when it is read.
func (v *visited) number(l kvl.Link) (uint64, bool) {
	if a := l.Area(); a < len(v.areas) {
		n := l.Word() >> (placeShift - 3)
		return v.areas[a].first + n, n < v.areas[a].count
	}
	return 0, false
}

// page returns the page of a place that has a number.
func (v *visited) page(n uint64) *visitedPage {
	p := v.pages[n>>pageShift].Load()
	if p == nil {
		p = v.makePage(n >> pageShift)
	}
	return p
}

func (v *visited) makePage(i uint64) *visitedPage {
	p := new(visitedPage)
	if v.pages[i].CompareAndSwap(nil, p) {
		return p
	}
	return v.pages[i].Load() // another worker was first
}

// claim adds the place of a number, and reports whether it is new.
func (v *visited) claim(n uint64) bool {
	p := v.page(n)
	word, bit := &p[n>>6%uint64(len(p))], uint64(1)<<(n%64)
	if v.shared {
		return word.Or(bit)&bit == 0
	}
	was := word.Load()
	fence.Publish64(word, was|bit)
	return was&bit == 0
}

// add adds a place, and reports whether it is new. A place without a number always is.
func (v *visited) add(l kvl.Link) bool {
	n, ok := v.number(l)
	return !ok || v.claim(n)
}

// prefetch finds the numbers of places, and loads the bits of all, so that the loads overlap: a
// branch on each bit would be mispredicted, and hold up the loads behind it. The sum keeps the
// compiler from removing the loads. prefetch returns false if one of the links has no number or
// leads nowhere.
func (v *visited) prefetch(links []kvl.Link, numbers *[batchLinks]uint64) (sum uint64, ok bool) {
	links = links[:min(len(links), len(numbers))]
	areas := v.areas
	for i := range links {
		l := &links[i]
		a, n := l.Area(), l.Word()>>(placeShift-3)
		if a >= len(areas) || n >= areas[a].count || l.IsZero() {
			return 0, false
		}
		numbers[i] = areas[a].first + n
	}
	pages := v.pages
	for _, n := range numbers[:len(links)] {
		p := pages[n>>pageShift].Load()
		if p == nil {
			p = v.makePage(n >> pageShift)
		}
		sum += p[n>>6%uint64(len(p))].Load()
	}
	return sum, true
}

// claimBatch adds places that prefetch has numbered, writes the links of new ones to the beginning
// of fresh, and returns how many these are. It has no branch on the bits: fresh must have room for
// all.
func (v *visited) claimBatch(links []kvl.Link, numbers *[batchLinks]uint64, fresh []kvl.Link) int {
	if v.shared {
		return v.claimBatchShared(links, numbers, fresh)
	}
	k := 0
	for i, l := range links[:min(len(links), len(numbers))] {
		n := numbers[i]
		p := v.pages[n>>pageShift].Load() // prefetch made it
		word := &p[n>>6%uint64(len(p))]
		was := word.Load()
		fresh[k] = l
		k += int(^was >> (n % 64) & 1)
		fence.Publish64(word, was|1<<(n%64))
	}
	return k
}

// claimBatchShared is claimBatch for several workers. It first reads the bits of all places without
// writing, because most of them were visited before, and then claims those that seem to be new.
func (v *visited) claimBatchShared(links []kvl.Link, numbers *[batchLinks]uint64, fresh []kvl.Link) int {
	k := 0
	for i, l := range links[:min(len(links), len(numbers))] {
		n := numbers[i]
		p := v.pages[n>>pageShift].Load() // prefetch made it
		fresh[k], numbers[k] = l, n
		k += int(^p[n>>6%uint64(len(p))].Load() >> (n % 64) & 1)
	}
	m := 0
	for i, n := range numbers[:k] {
		if v.claim(n) {
			fresh[m] = fresh[i]
			m++
		}
	}
	return m
}

package keli

import "github.com/remora-kv/remora/kvl"

// visited knows the places of an image that a walk has been at: a bit for each 8 bytes of an
// area, in pages that are made when they are needed, because a directory may say that areas
// are as long as it likes.
type visited struct {
	areas [][]*visitedPage
	sink  uint64 // so that the loads of find are not left out
}

// visitedPage is the bits of 2 MiB.
type visitedPage [4096]uint64

const (
	pageShift = 21 // of an offset
	// maxPages is how many pages of an area there are at most: those of 1 TiB. What is
	// behind is not remembered, and would be visited again.
	maxPages = 1 << 19
)

// reset forgets everything, for the areas of an image.
func (v *visited) reset(areas []area) {
	v.areas = make([][]*visitedPage, len(areas))
	for i := range areas {
		v.areas[i] = make([]*visitedPage, min((areas[i].size>>pageShift)+1, maxPages))
	}
}

// add notes a place, and reports whether it is new. What is outside of the areas is: who
// reads it is told.
func (v *visited) add(l kvl.Link) bool {
	p := v.page(l)
	if p == nil {
		if p = v.makePage(l); p == nil {
			return true
		}
	}
	word := uint64(l.Offset()) / 8
	i, bit := word>>6%uint64(len(p)), uint64(1)<<(word%64)
	if p[i]&bit != 0 {
		return false
	}
	p[i] |= bit
	return true
}

// page returns the page of a place, nil if there is none.
func (v *visited) page(l kvl.Link) *visitedPage {
	if a := l.Area(); a < len(v.areas) {
		if n := uint64(l.Offset()) >> pageShift; n < uint64(len(v.areas[a])) {
			return v.areas[a][n]
		}
	}
	return nil
}

func (v *visited) makePage(l kvl.Link) *visitedPage {
	a, n := l.Area(), l.Offset()>>pageShift
	if a >= len(v.areas) || n >= int64(len(v.areas[a])) {
		return nil
	}
	v.areas[a][n] = new(visitedPage)
	return v.areas[a][n]
}

// spot is the bit of a place.
type spot struct {
	word *uint64 // nil: there is no page, or no place
	bit  uint64
}

// find appends the bits of places to spots, and loads all of them: whether a place is new is
// hard to predict, and until that is known nothing behind it would be loaded.
func (v *visited) find(links []kvl.Link, spots []spot) []spot {
	sum := v.sink
	for _, l := range links {
		p := v.page(l)
		if p == nil || l.IsZero() {
			spots = append(spots, spot{})
			continue
		}
		word := uint64(l.Offset()) / 8
		at := &p[word>>6%uint64(len(p))]
		sum += *at
		spots = append(spots, spot{at, 1 << (word % 64)})
	}
	v.sink = sum
	return spots
}

package keli

import "github.com/remora-kv/remora/kvl"

// visited knows the places of an image that a walk has been at: a bit for each 8 bytes of an
// area, in pages, because a directory may say that areas are as long as it likes.
type visited struct {
	pages map[uint64]*visitedPage
	last  *visitedPage // found most recently
	at    uint64       // its number
}

// visitedPage is the bits of 2 MiB.
type visitedPage [4096]uint64

const (
	pageBits  = 18
	areaShift = 40 // of a place: above the offset in words
)

// add notes a place, and reports whether it is new.
func (v *visited) add(l kvl.Link) bool {
	word := uint64(l.Area())<<areaShift | uint64(l.Offset())/8
	p := v.page(word >> pageBits)
	i, bit := word>>6%uint64(len(p)), uint64(1)<<(word%64)
	if p[i]&bit != 0 {
		return false
	}
	p[i] |= bit
	return true
}

func (v *visited) page(n uint64) *visitedPage {
	if v.last != nil && v.at == n {
		return v.last
	}
	p := v.pages[n]
	if p == nil {
		if v.pages == nil {
			v.pages = map[uint64]*visitedPage{}
		}
		p = new(visitedPage)
		v.pages[n] = p
	}
	v.last, v.at = p, n
	return p
}

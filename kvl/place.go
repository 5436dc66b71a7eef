package kvl

import "fmt"

// placer gives records their places, in the order in which they come. It is asked twice,
// by plan and by write, and answers the same.
type placer struct {
	areaSize int
	sizes    []int // of areas, what is used
	current  int   // the area that is being filled, -1 if there is none
}

func newPlacer(areaSize int) placer { return placer{areaSize: areaSize, current: -1} }

// place returns where a record of n bytes is to be. One that is longer than an area has one
// of its own, and others go on where they were.
func (p *placer) place(n int) (area, off int) {
	if n > p.areaSize {
		p.sizes = append(p.sizes, n)
		return len(p.sizes) - 1, 0
	}
	if p.current < 0 || p.sizes[p.current]+n > p.areaSize {
		p.current = len(p.sizes)
		p.sizes = append(p.sizes, 0)
	}
	off = p.sizes[p.current]
	p.sizes[p.current] += n
	return p.current, off
}

// check says whether links and the index can name all places.
func (p *placer) check() error {
	most := min(MaxAreas, 1<<(placeBits-placeBitsOf(p.areaSize)))
	if len(p.sizes) > most {
		return fmt.Errorf("kvl: %d areas of %d bytes, at most %d are possible: make AreaSize larger", len(p.sizes), p.areaSize, most)
	}
	return nil
}

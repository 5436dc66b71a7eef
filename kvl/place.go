package kvl

import "fmt"

// placer assigns places to records, in the order of calls. plan and write both use it, with the
// same results.
type placer struct {
	areaSize int
	sizes    []int // used bytes of each area
	current  int   // the area that is being filled, -1 if there is none
}

func newPlacer(areaSize int) placer { return placer{areaSize: areaSize, current: -1} }

// place returns the place of the next record, of n bytes. A record longer than areaSize gets an
// area of its own.
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

// check returns an error if links or the index cannot name all places.
func (p *placer) check() error {
	most := min(MaxAreas, 1<<(placeBits-placeBitsOf(p.areaSize)))
	if len(p.sizes) > most {
		return fmt.Errorf("kvl: %d areas of %d bytes, the limit is %d: increase AreaSize", len(p.sizes), p.areaSize, most)
	}
	return nil
}

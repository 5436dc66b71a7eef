package load

import (
	"math"
	"math/bits"
)

// hotspot draws ranks: so many operations go to so many of the keys, both in percent, and
// to each of them alike; the others to the other keys, likewise.
type hotspot struct {
	keys, hot uint64 // ranks below hot are the hot ones
	often     uint64 // of 2^32
}

func newHotspot(keys uint64, opsPct, keysPct float64) hotspot {
	hot := uint64(math.Round(float64(keys) * keysPct / 100))
	h := hotspot{keys: keys, hot: min(max(hot, 1), keys), often: share(opsPct)}
	if h.hot == keys {
		h.often = 1 << 32 // there are no others
	}
	return h
}

// draw returns a rank.
func (h *hotspot) draw(r *Random) uint64 {
	x := r.Next()
	if r.Next()>>32 < h.often {
		rank, _ := bits.Mul64(x, h.hot)
		return rank
	}
	rank, _ := bits.Mul64(x, h.keys-h.hot)
	return h.hot + rank
}

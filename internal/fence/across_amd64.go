//go:build !race

package fence

// acrossLeast is the length from which on copies go on in four places.
const acrossLeast = 4096

// CopyAcross copies src into dst, which is not read before the next Publish (F7): from
// four places at a time, so that the memory of src, if it is in no cache, has more to do. It copies len(src)
// bytes; dst must be at least as long. dst and src must not overlap. The goroutine is not
// preempted meanwhile, as in copy.
func CopyAcross(dst, src []byte) {
	if len(dst) < len(src) {
		panicShort("CopyAcross", len(dst), len(src))
	}
	if !hasAVX || len(src) < acrossLeast {
		CopyOut(dst, src)
		return
	}
	quarter := len(src) / 4 &^ (lineSize - 1)
	copyAcross(&dst[0], &src[0], quarter)
	CopyOut(dst[4*quarter:], src[4*quarter:])
}

// copyAcross copies four quarters of quarter bytes each, a multiple of lineSize and not 0.
//
//go:noescape
func copyAcross(dst, src *byte, quarter int)

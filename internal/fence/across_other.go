//go:build race || !amd64

package fence

// CopyAcross copies src into dst, which nobody reads before what is published next (F7). It
// copies len(src) bytes; dst must be at least as long. dst and src must not overlap.
func CopyAcross(dst, src []byte) {
	if len(dst) < len(src) {
		panicShort("CopyAcross", len(dst), len(src))
	}
	CopyOut(dst, src)
}

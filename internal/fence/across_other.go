//go:build race || !amd64

package fence

// CopyAcross copies src into dst, which is not read before the next Publish (F7). It
// copies len(src) bytes; dst must be at least as long. dst and src must not overlap.
func CopyAcross(dst, src []byte) {
	if len(dst) < len(src) {
		panicShort("CopyAcross", len(dst), len(src))
	}
	CopyOut(dst, src)
}

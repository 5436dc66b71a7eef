//go:build race || !amd64

package fence

// CopyPast copies src into dst, which will not be read soon (F6). It copies len(src) bytes; dst
// must be at least as long. dst and src must not overlap. Drain comes before the Publish of what
// was copied.
func CopyPast(dst, src []byte) {
	if len(dst) < len(src) {
		panicShort("CopyPast", len(dst), len(src))
	}
	copy(dst, src)
}

// Drain makes what CopyPast has copied, and all else that was stored, visible to others before
// what is stored after it.
func Drain() { orderStores() }

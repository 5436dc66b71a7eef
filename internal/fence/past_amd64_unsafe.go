//go:build amd64 && !race

package fence

import "unsafe"

// pastLine is what the destination of a copy past the caches is aligned to, and pastStep how
// much of it is copied at a time.
const (
	pastLine = 64
	pastStep = 128
)

// CopyPast copies src into dst and leaves it in no cache, as is best for what will not be read
// soon (F6): VMOVNTDQ on amd64, an ordinary copy elsewhere. It copies len(src) bytes; dst must be at
// least as long. dst and src must not overlap. Drain comes before the Publish of what was
// copied.
func CopyPast(dst, src []byte) {
	if len(dst) < len(src) {
		panicShort("CopyPast", len(dst), len(src))
	}
	if !hasAVX || len(src) < pastLine+pastStep {
		copy(dst, src)
		return
	}
	head := int(-uintptr(unsafe.Pointer(&dst[0])) % pastLine)
	body := (len(src) - head) &^ (pastStep - 1)
	copy(dst, src[:head])
	copyPast(&dst[head], &src[head], body)
	copy(dst[head+body:], src[head+body:])
}

// copyPast copies n > 0 bytes, a multiple of pastStep, to where a line begins.
//
//go:noescape
func copyPast(dst, src *byte, n int)

// Drain waits until what CopyPast has copied is visible to others: SFENCE on amd64.
//
//go:noescape
func Drain()

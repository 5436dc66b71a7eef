//go:build race || !amd64

package fence

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"
)

// copyOut copies n > 0 bytes with the orderings of CopyOut.
func copyOut(dst, src *byte, n int) {
	shared, private := unsafe.Slice(dst, n), unsafe.Slice(src, n)
	head := raggedHead(dst, n)
	for i := range head {
		PublishByte(&shared[i], private[i])
	}
	i := head
	for ; i+8 <= n; i += 8 {
		Publish64(wordAt(&shared[i]), binary.NativeEndian.Uint64(private[i:]))
	}
	for ; i < n; i++ {
		PublishByte(&shared[i], private[i])
	}
}

// copyIn copies n > 0 bytes with the orderings of CopyIn.
func copyIn(dst, src *byte, n int) {
	private, shared := unsafe.Slice(dst, n), unsafe.Slice(src, n)
	head := raggedHead(src, n)
	for i := range head {
		private[i] = ObserveByte(&shared[i])
	}
	i := head
	for ; i+8 <= n; i += 8 {
		binary.NativeEndian.PutUint64(private[i:], Observe64(wordAt(&shared[i])))
	}
	for ; i < n; i++ {
		private[i] = ObserveByte(&shared[i])
	}
}

// raggedHead returns how many of n bytes at p lie before an 8-byte boundary.
func raggedHead(p *byte, n int) int {
	return min(n, int(-uintptr(unsafe.Pointer(p))&7))
}

// wordAt views the 8 bytes at p, which must be aligned, as an atomic word.
func wordAt(p *byte) *atomic.Uint64 { return (*atomic.Uint64)(unsafe.Pointer(p)) }

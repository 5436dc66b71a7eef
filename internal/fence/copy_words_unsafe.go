//go:build race || !amd64

package fence

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"
)

// copyOut copies n > 0 bytes with the orderings of CopyOut. Each store is a release towards
// CPUs. Towards an adapter only the first is, and the last: a barrier for each would cost more.
func copyOut(dst, src *byte, n int) {
	shared, private, most := unsafe.Slice(dst, n), unsafe.Slice(src, n), n-lastStore(dst, n)
	orderStores()
	releaseBytes(shared[:most], private)
	if most > 0 {
		orderStores()
	}
	releaseBytes(shared[most:], private[most:])
}

// lastStore returns how many of n > 0 bytes at p are stored last: a word, if one ends there,
// or a byte.
func lastStore(p *byte, n int) int {
	if n >= 8 && (uintptr(unsafe.Pointer(p))+uintptr(n))&7 == 0 {
		return 8
	}
	return 1
}

// releaseBytes stores the bytes of shared in ascending order, aligned words whole.
func releaseBytes(shared, private []byte) {
	n := len(shared)
	i := raggedHead(unsafe.SliceData(shared), n)
	for j := range i {
		publishByte(&shared[j], private[j])
	}
	for ; i+8 <= n; i += 8 {
		publish64(wordAt(&shared[i]), binary.NativeEndian.Uint64(private[i:]))
	}
	for ; i < n; i++ {
		publishByte(&shared[i], private[i])
	}
}

// copyIn copies n > 0 bytes with the orderings of CopyIn.
func copyIn(dst, src *byte, n int) {
	private, shared := unsafe.Slice(dst, n), unsafe.Slice(src, n)
	head := raggedHead(src, n)
	for i := range head {
		private[i] = observeByte(&shared[i])
	}
	i := head
	for ; i+8 <= n; i += 8 {
		binary.NativeEndian.PutUint64(private[i:], observe64(wordAt(&shared[i])))
	}
	for ; i < n; i++ {
		private[i] = observeByte(&shared[i])
	}
	orderLoads()
}

// raggedHead returns how many of n bytes at p lie before an 8-byte boundary.
func raggedHead(p *byte, n int) int {
	return min(n, int(-uintptr(unsafe.Pointer(p))&7))
}

// wordAt views the 8 bytes at p, which must be aligned, as an atomic word.
func wordAt(p *byte) *atomic.Uint64 { return (*atomic.Uint64)(unsafe.Pointer(p)) }

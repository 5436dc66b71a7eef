//go:build linux

package tcp

import (
	"sync/atomic"
	"unsafe"
)

// wordAt views 8 aligned bytes of a region as an atomic word, in the byte
// order of this host (G6).
func wordAt(b []byte) *atomic.Uint64 {
	// Slicing checks the length without looking at the bytes, which are shared.
	return (*atomic.Uint64)(unsafe.Pointer(unsafe.SliceData(b[:8])))
}

// misaligned returns how many bytes lie between the start of b and the next
// multiple of size, a power of two.
func misaligned(b []byte, size int) int {
	return int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) & uintptr(size-1))
}

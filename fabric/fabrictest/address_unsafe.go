package fabrictest

import (
	"sync/atomic"
	"unsafe"
)

// addressOf returns where b begins.
func addressOf(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// wordAt views the first 8 bytes of b, which begin at a multiple of 8, as a
// word.
func wordAt(b []byte) *atomic.Uint64 {
	_ = b[7]
	return (*atomic.Uint64)(unsafe.Pointer(unsafe.SliceData(b)))
}

package herd

import (
	"sync/atomic"
	"unsafe"
)

// wordAt views the 8 bytes at off, a multiple of 8 in memory that begins at one,
// as a word. Slicing checks the bounds without reading.
func wordAt(mem []byte, off int) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(unsafe.SliceData(mem[off : off+8 : off+8])))
}

package shm

import (
	"sync/atomic"
	"unsafe"
)

// firstWord views the first 8 bytes as a word.
func firstWord(b []byte) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(unsafe.SliceData(b[:8])))
}

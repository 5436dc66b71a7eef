package shm

import (
	"sync/atomic"
	"unsafe"
)

// liveWord is the word behind a region that says whether it is open.
func liveWord(file []byte, size int) *atomic.Uint32 {
	off := pages(size)
	return (*atomic.Uint32)(unsafe.Pointer(unsafe.SliceData(file[off : off+4])))
}

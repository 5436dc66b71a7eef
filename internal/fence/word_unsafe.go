package fence

import (
	"sync/atomic"
	"unsafe"
)

// Word views the 8 bytes of mem at off as a word, for the functions of this package. They
// must begin at a multiple of 8 in memory. The bounds are checked without a look at the
// bytes, which a peer may be writing.
func Word(mem []byte, off int) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(unsafe.SliceData(mem[off : off+8 : len(mem)])))
}

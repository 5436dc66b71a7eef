package verbs

import (
	"fmt"
	"sync/atomic"
	"unsafe"
)

// wordAt views the aligned eight bytes of mem at off as a word that a peer may
// touch.
func wordAt(mem []byte, off int) *atomic.Uint64 {
	p := unsafe.Pointer(&mem[off : off+wordSize][0])
	if uintptr(p)%wordSize != 0 {
		panic(fmt.Sprintf("verbs: word at offset %d is not aligned", off))
	}
	return (*atomic.Uint64)(p)
}

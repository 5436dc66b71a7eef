//go:build race || !linux

package arena

import (
	"syscall"
	"unsafe"
)

// heapAlign is the alignment of blocks on the heap, that of mapped ones.
const heapAlign = 4096

// heapLimit is where the heap is not asked at all, since a slice that cannot be
// made is a crash and not an error.
const heapLimit = 1 << 40

func allocPrivate(size int) ([]byte, error) {
	if int64(size) > heapLimit {
		return nil, syscall.ENOMEM
	}
	mem := make([]byte, size+heapAlign-1)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(mem))) & (heapAlign - 1))
	return mem[skip : skip+size : skip+size], nil
}

func freePrivate(mem []byte) error {
	poisonResident(mem)
	return nil
}

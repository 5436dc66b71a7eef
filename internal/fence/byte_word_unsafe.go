//go:build race || (!amd64 && !arm64)

package fence

import (
	"sync/atomic"
	"unsafe"
)

// observeByte loads one byte with acquire ordering towards CPUs.
func observeByte(p *byte) byte {
	word, i := containingWord(p)
	return byteOf(word.Load(), i)
}

// publishByte stores one byte with release ordering towards CPUs.
func publishByte(p *byte, v byte) {
	word, i := containingWord(p)
	for {
		old := word.Load()
		if word.CompareAndSwap(old, withByte(old, i, v)) {
			return
		}
	}
}

// containingWord returns the aligned 4-byte word around p and p's index in it.
func containingWord(p *byte) (word *atomic.Uint32, index uintptr) {
	index = uintptr(unsafe.Pointer(p)) & 3
	return (*atomic.Uint32)(unsafe.Add(unsafe.Pointer(p), -int(index))), index
}

// byteOf returns the byte of w that lies at index i in memory, whatever the
// byte order of the machine.
func byteOf(w uint32, i uintptr) byte {
	return (*[4]byte)(unsafe.Pointer(&w))[i]
}

// withByte returns w with the byte at index i in memory replaced by v.
func withByte(w uint32, i uintptr, v byte) uint32 {
	(*[4]byte)(unsafe.Pointer(&w))[i] = v
	return w
}

package tcp

import "unsafe"

// misaligned returns how many bytes lie between the start of b and the next
// multiple of size, a power of two.
func misaligned(b []byte, size int) int {
	return int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) & uintptr(size-1))
}

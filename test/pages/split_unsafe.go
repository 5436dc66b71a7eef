package pages

import (
	"testing"
	"unsafe"
)

// Split returns a zeroed T in memory from New, in which mem[cut] is the first byte of a field
// and of a page: what is before the field is in other pages. The garbage collector does not
// see pointers in the T, so the test keeps alive what they lead to.
func Split[T, F any](tb testing.TB, field func(*T) *F) (v *T, mem []byte, cut int) {
	tb.Helper()
	var sample T
	at := int(uintptr(unsafe.Pointer(field(&sample))) - uintptr(unsafe.Pointer(&sample)))
	if at%int(unsafe.Alignof(sample)) != 0 {
		tb.Fatalf("the field at %d of a %T is not aligned as the whole", at, sample)
	}
	before := (at + Size - 1) / Size
	mem = New(tb, before+int(unsafe.Sizeof(sample))/Size+1)
	cut = before * Size
	return (*T)(unsafe.Pointer(&mem[cut-at])), mem, cut
}

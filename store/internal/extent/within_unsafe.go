package extent

import "unsafe"

// Within reports whether b begins inside mem. A view of an item is either wholly inside the
// memory or not at all. It needs unsafe because Go compares pointers for equality only.
func Within(mem, b []byte) bool {
	if len(b) == 0 {
		return false
	}
	from := uintptr(unsafe.Pointer(unsafe.SliceData(mem)))
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return at >= from && at-from < uintptr(len(mem))
}

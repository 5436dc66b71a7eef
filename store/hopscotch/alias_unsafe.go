package hopscotch

import "unsafe"

// within says whether b begins inside mem. A slice of an arena's block is inside
// as a whole, or not at all.
//
// There is no other way to ask: the language compares pointers for being equal,
// not for what they lie between.
func within(mem, b []byte) bool {
	if len(b) == 0 {
		return false
	}
	from := uintptr(unsafe.Pointer(unsafe.SliceData(mem)))
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return at >= from && at-from < uintptr(len(mem))
}

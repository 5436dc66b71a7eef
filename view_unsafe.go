package remora

import "unsafe"

// view returns the bytes of a string without a copy. They must not be written.
func view(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

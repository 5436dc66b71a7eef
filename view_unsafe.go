package remora

import "unsafe"

// view returns the bytes of a string without a copy. Nobody may write them.
func view(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

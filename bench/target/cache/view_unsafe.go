package cache

import "unsafe"

// view returns bytes as a string without a copy. They must not change as long as
// it is used.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

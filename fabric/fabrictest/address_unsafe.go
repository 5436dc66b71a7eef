package fabrictest

import "unsafe"

// addressOf returns where b begins.
func addressOf(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

package fence

import (
	"sync/atomic"
	"unsafe"
)

// alignedBuffer returns n bytes that start at a 64-byte boundary, with 8 bytes of
// the same allocation behind them.
func alignedBuffer(n int) []byte {
	buf := make([]byte, n+64+8)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(buf))) & 63)
	return buf[skip : skip+n]
}

// asUint64 views 8 aligned bytes as an atomic.
func asUint64(p *byte) *atomic.Uint64 { return (*atomic.Uint64)(unsafe.Pointer(p)) }

// asUint32 views 4 aligned bytes as an atomic.
func asUint32(p *byte) *atomic.Uint32 { return (*atomic.Uint32)(unsafe.Pointer(p)) }

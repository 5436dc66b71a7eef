package direct

import (
	"sync/atomic"
	"unsafe"

	"github.com/remora-kv/remora/fabric"
)

// ringHeader is the beginning of a ring in shared memory; see the package doc.
type ringHeader struct {
	tail    atomic.Uint64
	_       [56]byte
	head    atomic.Uint64
	_       [56]byte
	posted  atomic.Uint64
	armed   atomic.Uint32
	taker   atomic.Uint32
	_       [48]byte
	starved atomic.Uint32
	giver   atomic.Uint32
	_       [56]byte
	ops     [fabric.NumOps]atomic.Uint64
	bytes   atomic.Uint64
	_       [64]byte
}

const ringHeaderSize = 384

// The layout is shared between processes that may have been built apart.
var (
	_ [ringHeaderSize - unsafe.Sizeof(ringHeader{})]byte
	_ [unsafe.Sizeof(ringHeader{}) - ringHeaderSize]byte
	_ [unsafe.Offsetof(ringHeader{}.ops) - 256]byte
	_ [256 - unsafe.Offsetof(ringHeader{}.ops)]byte
)

func headerAt(mem []byte) *ringHeader {
	return (*ringHeader)(unsafe.Pointer(unsafe.SliceData(mem[:ringHeaderSize])))
}

// words32 views mem as n 32-bit words.
func words32(mem []byte, n int) []atomic.Uint32 {
	return unsafe.Slice((*atomic.Uint32)(unsafe.Pointer(unsafe.SliceData(mem[:4*n]))), n)
}

// word64 views 8 aligned bytes as a word. Slicing checks the bounds without
// reading, which would be a race with other atomics.
func word64(mem []byte) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(unsafe.SliceData(mem[:8])))
}

// HeapBytes returns n zeroed bytes of Go memory that begin at a multiple of
// align, for providers whose peers are in the same process: the garbage
// collector keeps them alive as long as any peer has them mapped.
func HeapBytes(n, align int) []byte {
	b := make([]byte, n+align)
	off := -int(uintptr(unsafe.Pointer(&b[0]))) & (align - 1)
	return b[off : off+n : off+n]
}

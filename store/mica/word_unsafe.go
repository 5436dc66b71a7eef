package mica

import (
	"sync/atomic"
	"unsafe"

	"github.com/remora-kv/remora/internal/fence"
)

// tableBytes is the size of a Table without its block.
const tableBytes = int64(unsafe.Sizeof(Table{}))

// word is eight bytes of the block.
type word [8]byte

// linesOf and wordsOf return views of a block, which is aligned to pages.
func linesOf(mem []byte) []line {
	return unsafe.Slice((*line)(unsafe.Pointer(unsafe.SliceData(mem))), len(mem)/lineSize)
}

func wordsOf(mem []byte) []word {
	return unsafe.Slice((*word)(unsafe.Pointer(unsafe.SliceData(mem))), len(mem)/len(word{}))
}

// publishMeta writes the meta word of an item after all earlier writes. Items begin
// at multiples of 8.
func (t *Table) publishMeta(at int, m meta) {
	word := t.mem[at+metaAt : at+headerSize : at+headerSize]
	fence.Publish64((*atomic.Uint64)(unsafe.Pointer(unsafe.SliceData(word))), uint64(m))
}

// offsetOf returns the address of memory, for tests.
func offsetOf(mem []byte) int { return int(uintptr(unsafe.Pointer(unsafe.SliceData(mem)))) }

// offsetIn returns the offset in mem where a slice begins, or 0 if it is empty or
// elsewhere.
func offsetIn(mem, b []byte) int {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(unsafe.Pointer(unsafe.SliceData(mem)))
	if len(b) == 0 || at >= uintptr(len(mem)) {
		return 0
	}
	return int(at)
}

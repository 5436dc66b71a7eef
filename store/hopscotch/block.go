package hopscotch

import (
	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/internal/extent"
)

const unit = extent.Unit

// Offsets of the parts of an item in its block. Freeing the block overwrites the first 24
// bytes, and with them the checksum.
const (
	atSum  = 8
	atLink = 16
	atWord = 24
	atBody = atWord + extent.WordSize
	atKey  = atBody + extent.BodyData
)

// blockSize returns the length of the block of an item.
func blockSize(keySize, valueSize int) uint64 {
	return extent.RoundUp(atKey + uint64(keySize) + uint64(valueSize))
}

// block returns the record of the block at off.
func (t *Table) block(off uint64) extent.Record { return t.heap.Record(off + atBody) }

// item returns how many bytes of its block an item needs, and when it expires.
func (t *Table) item(off uint64) (size uint64, expires int64) {
	r := t.block(off)
	return extent.RoundUp(atBody + r.Size()), r.Expires()
}

// next returns the link to the next item of a chain.
func (t *Table) next(off uint64) link { return link(t.heap.Word(off + atLink)) }

// classAt returns the size class of the item at off.
func (t *Table) classAt(off uint64) uint8 {
	return classOf(extent.RoundUp(atBody + t.block(off).Size()))
}

// linkTo returns the link to the item at off.
func (t *Table) linkTo(off uint64) link {
	return newLink(off, t.classAt(off), t.block(off).Version())
}

// setNext sets the link of the item at off and its checksum, which covers the link.
func (t *Table) setNext(off uint64, to link) {
	t.heap.SetWord(off+atLink, uint64(to))
	t.sealBlock(off)
}

func (t *Table) sealBlock(off uint64) {
	t.heap.SetWord(off+atSum, sum(t.block(off), t.seed, t.next(off)))
}

// fill writes an item into a block that was taken.
func (t *Table) fill(off uint64, k store.Key, e *store.Entry) {
	t.heap.Fill(off, atBody, k, e)
	t.setNext(off, 0)
}

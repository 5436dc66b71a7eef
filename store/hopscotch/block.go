package hopscotch

import (
	"encoding/binary"

	"github.com/remora-kv/remora/internal/extent"
	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/store"
)

const unit = extent.Unit

// Where the parts of an item are in its block. The first 24 bytes are lost when the block
// is freed, and with the sum all that would prove the item.
const (
	atSum  = 8
	atLink = 16
	atWord = 24
	atBody = 32
	atKey  = atBody + bodyData
)

// blockSize returns the length of the block of an item.
func blockSize(keySize, valueSize int) uint64 {
	return extent.RoundUp(atKey + uint64(keySize) + uint64(valueSize))
}

func (t *Table) itemWord(off uint64) uint64 { return binary.LittleEndian.Uint64(t.items[off:]) }

func (t *Table) setItemWord(off, v uint64) { fence.Publish64(fence.Word(t.items, int(off)), v) }

// block is the record at off.
func (t *Table) block(off uint64) record {
	return record{t.items[off+atBody:], t.itemWord(off + atWord)}
}

// next is the link to the next item of a chain.
func (t *Table) next(off uint64) link { return link(t.itemWord(off + atLink)) }

// classAt returns the class of the length of the item at off.
func (t *Table) classAt(off uint64) uint8 {
	return classOf(extent.RoundUp(atBody + t.block(off).size()))
}

// linkTo returns the link to the item at off.
func (t *Table) linkTo(off uint64) link {
	return newLink(off, t.classAt(off), t.block(off).version())
}

// setNext changes the link of the item at off, which its checksum covers.
func (t *Table) setNext(off uint64, to link) {
	t.setItemWord(off+atLink, uint64(to))
	t.sealBlock(off)
}

func (t *Table) sealBlock(off uint64) {
	t.setItemWord(off+atSum, t.block(off).sum(t.seed, t.next(off)))
}

// writeHeader completes an item whose key and value are in place.
func (t *Table) writeHeader(off uint64, k store.Key, e *store.Entry, beside link, version uint64) {
	t.setItemWord(off+atBody+bodyHash, k.Hash)
	t.setItemWord(off+atBody+bodyExpires, uint64(e.Expires))
	t.setItemWord(off+atBody+bodyFlags, uint64(e.Flags)|uint64(len(e.Value))<<32)
	t.setItemWord(off+atWord, newWord(version, len(k.Bytes)))
	t.setItemWord(off+atLink, uint64(beside))
	t.sealBlock(off)
}

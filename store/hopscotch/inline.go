package hopscotch

import (
	"encoding/binary"

	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/internal/extent"
)

// Inline is how many bytes of key and value together fit into a slot of New.
const Inline = 56

// Offsets of the parts of an inline item in its slot of two cache lines. The first line has
// the version in the label, the second in its last word (H5).
const (
	atInlineSum  = slotHead
	atInlineBody = slotHead + 8
	atInlineWord = inlineSlot - 8
	inlineSlot   = 128
	inlineBody   = extent.BodyData + Inline
)

var _ [atInlineWord - atInlineBody - inlineBody]struct{} // the body ends before the word

// image is an inline item that was composed outside the slots, so that it survives when
// slots are moved to make room for it: key and value may be views of those slots (S5).
type image struct {
	word uint64
	body [inlineBody]byte
}

func (m *image) compose(k store.Key, e *store.Entry, version uint64) {
	m.word = extent.NewWord(version, len(k.Bytes))
	binary.LittleEndian.PutUint64(m.body[extent.BodyHash:], k.Hash)
	binary.LittleEndian.PutUint64(m.body[extent.BodyExpires:], uint64(e.Expires))
	binary.LittleEndian.PutUint64(m.body[extent.BodyFlags:], uint64(e.Flags)|uint64(len(e.Value))<<32)
	n := copy(m.body[extent.BodyData:], k.Bytes)
	copy(m.body[extent.BodyData+n:], e.Value)
}

func (m *image) record() extent.Record { return extent.Record{Body: m.body[:], Word: m.word} }

// fitsInline reports whether a slot has room for a key and a value.
func (t *Table) fitsInline(keySize, valueSize int) bool {
	return t.slotSize == inlineSlot && keySize+valueSize <= Inline
}

// inline returns the record in slot i.
func (t *Table) inline(i uint64) extent.Record {
	from := i * inlineSlot
	return inlineIn(t.slots[from : from+inlineSlot])
}

// inlineIn returns the record in the bytes of a slot.
func inlineIn(slot []byte) extent.Record {
	return extent.Record{Body: slot[atInlineBody:atInlineWord:atInlineWord], Word: binary.LittleEndian.Uint64(slot[atInlineWord:])}
}

// writeInline writes an image into slot i.
func (t *Table) writeInline(i uint64, m *image) {
	r := m.record()
	from := i*inlineSlot + atInlineBody
	fence.CopyOut(t.slots[from:from+inlineBody], m.body[:(r.Size()+7)&^7])
	t.setSlotWord(i, atInlineWord, m.word)
	t.setSlotWord(i, atInlineSum, sum(r, t.seed, 0))
}

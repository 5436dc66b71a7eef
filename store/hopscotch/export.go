package hopscotch

import (
	"encoding/binary"
	"fmt"

	"github.com/remora-kv/remora/store"
)

// The exported areas.
const (
	slotArea = iota
	itemArea
)

// layout describes a table to a Finder.
type layout struct {
	slotSize uint64
	homes    uint64
	items    uint64 // bytes of item memory
	seed     uint64 // of checksums
}

// layoutFormat is the first word of an encoded layout.
const layoutFormat = 0x3168637473706f68 // "hopstch1"

const layoutSize = 40

// bytes returns the encoded layout.
func (l layout) bytes() []byte {
	b := make([]byte, 0, layoutSize)
	for _, v := range []uint64{layoutFormat, l.slotSize, l.homes, l.items, l.seed} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

// parseLayout decodes a layout that a peer has sent.
func parseLayout(b []byte) (layout, error) {
	if len(b) != layoutSize || binary.LittleEndian.Uint64(b) != layoutFormat {
		return layout{}, fmt.Errorf("hopscotch: malformed layout (%d bytes, want %d that begin with the format of this engine): client and server may be of different versions", len(b), layoutSize)
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	l := layout{slotSize: word(1), homes: word(2), items: word(3), seed: word(4)}
	if l.slotSize != slotHead && l.slotSize != inlineSlot || l.homes == 0 || l.homes > maxMemory/slotHead || l.items > maxMemory {
		return layout{}, fmt.Errorf("hopscotch: malformed layout: %d homes, slots of %d bytes and %d bytes for items", l.homes, l.slotSize, l.items)
	}
	return l, nil
}

// Export returns the slots and the item memory.
func (t *Table) Export() store.Export {
	l := layout{t.slotSize, t.homes, uint64(len(t.heap.Mem())), t.seed}
	return store.Export{Layout: l.bytes(), Areas: t.heap.Areas()}
}

package hopscotch

import "github.com/remora-kv/remora/internal/fence"

// lineSize is a cache line.
const lineSize = 64

// PrefetchIndex starts to load the slot of the home, and the words of the other slots of
// its neighbourhood.
func (t *Table) PrefetchIndex(hash uint64) {
	from := t.homeOf(hash) * t.slotSize
	step := max(t.slotSize, lineSize)
	for at := from; at < from+reach*t.slotSize; at += step {
		fence.ExpectWrite(&t.slots[at])
	}
}

// PrefetchItems starts to load, for each hash, the first item of the neighbourhood that
// has its tag.
func (t *Table) PrefetchItems(hashes []uint64) {
	for _, hash := range hashes {
		t.prefetchItem(hash)
	}
}

func (t *Table) prefetchItem(hash uint64) {
	h := t.homeOf(hash)
	w, tag := t.home(h), tagOf(hash)
	for i := range uint64(reach) {
		l := t.lead(h + i)
		if !w.holds(i) || l.tag() != tag {
			continue
		}
		if l.offset() != 0 {
			fence.ExpectRead(&t.heap.Mem()[l.offset()])
		} else {
			fence.ExpectRead(&t.slots[(h+i)*t.slotSize+lineSize])
		}
		return
	}
}

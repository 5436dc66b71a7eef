package slots

import "github.com/remora-kv/remora/store"

// Memory returns the memory in which the suite flips bits.
func Memory(p store.Partition) [][]byte {
	t, ok := p.(*Table)
	if !ok {
		panic("not a Table")
	}
	return [][]byte{t.slots, t.shadows}
}

package slots

import "github.com/remora-kv/remora/store"

// Memory is what the suite flips bits of.
func Memory(p store.Partition) [][]byte {
	t, ok := p.(*Table)
	if !ok {
		panic("not a Table")
	}
	return [][]byte{t.slots, t.shadows}
}

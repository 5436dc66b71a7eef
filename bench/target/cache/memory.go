package cache

import (
	"fmt"

	"github.com/remora-kv/remora/bench/load"
)

// holdings is what a server keeps: items, and the memory for them and for finding them. An
// index counts in full, also where it is made for more.
type holdings struct{ items, bytes int64 }

// describe fills in how much an item takes.
func (h holdings) describe(row *Row) {
	row.Items = &h.items
	if h.items > 0 && h.bytes > 0 {
		per := load.Round(float64(h.bytes)/float64(h.items), 2)
		row.BytesPerItem = &per
	}
}

// perItem writes it.
func perItem(m *median) string {
	if m.Row.BytesPerItem == nil {
		return ""
	}
	return fmt.Sprintf("%.0f B", *m.Row.BytesPerItem)
}

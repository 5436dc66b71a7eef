package hopscotch

import "github.com/remora-kv/remora/store"

const (
	// overhead is set aside for the Table itself, which is on the Go heap (H1).
	overhead = 4 << 10
	// maxMemory is how much memory offsets in units of 32 bits reach.
	maxMemory = unit << 32
	// paperItem is the length of key and value that NewVar expects, the papers' workload.
	paperItem = 48
	// paperKey is the length of the papers' keys.
	paperKey = 16
	// loadTenths is how many of ten slots hold an item of NewVar when the memory is full
	// of items of that length.
	loadTenths = 7
	// someItems is item memory that also a table has whose values are all in line: for
	// the longest keys.
	someItems = 256 << 10
)

// split divides the memory of a partition into slots and item memory.
func split(cfg store.Config, slotSize uint64) (slots, itemMemory uint64) {
	usable := uint64(cfg.Memory) - overhead
	if slotSize == inlineSlot {
		slots = inlineShare(usable, cfg.MaxValue) / inlineSlot
	} else {
		slots = 10 * usable / (10*slotHead + loadTenths*blockSize(paperItem, 0))
	}
	return slots, usable - slots*slotSize
}

// inlineShare returns how much of the memory is for slots that hold items: two fifths if
// nothing is known of the values, nearly all if they fit beside a key of the papers.
func inlineShare(usable uint64, maxValue int) uint64 {
	share := usable / 5 * 2
	if maxValue+paperKey <= Inline {
		share = max(share, usable-max(usable/10, min(usable, someItems)))
	}
	return share
}

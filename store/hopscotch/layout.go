package hopscotch

import "github.com/remora-kv/remora/store"

const (
	// overhead is reserved for the Table itself, which is on the Go heap (H1).
	overhead = 4 << 10
	// maxMemory is the memory that offsets of 32 bits in units can address.
	maxMemory = unit << 32
	// paperItem is the length of key and value that NewVar expects: the papers' workload.
	paperItem = 48
	// paperKey is the length of the papers' keys.
	paperKey = 16
	// loadTenths is the load of a NewVar table, in tenths, when the memory is full of items
	// of that length.
	loadTenths = 7
	// someItems is the item memory of a table whose values are all inline: for the longest
	// keys.
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

// inlineShare returns how much of the memory is for slots with inline items: two fifths,
// or nearly all if the longest value fits beside a key of the papers.
func inlineShare(usable uint64, maxValue int) uint64 {
	share := usable / 5 * 2
	if maxValue+paperKey <= Inline {
		share = max(share, usable-max(usable/10, min(usable, someItems)))
	}
	return share
}

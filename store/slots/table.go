package slots

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/store"
)

const (
	// overhead is reserved for the Table itself (O1).
	overhead = 4096
	// cell is the memory of a slot with its shadow.
	cell = slotSize + shadowSize
	// maxSlots keeps offsets far below the largest int64.
	maxSlots = 1 << 32
)

// The windows (see the package doc).
const (
	storeWindow = 64
	cacheWindow = 16
)

// Table is a partition.
type Table struct {
	cfg         store.Config
	slotBlock   store.Block
	shadowBlock store.Block
	slots       []byte
	shadows     []byte
	n           uint64 // number of slots
	window      uint64
	last        uint64 // the last version that was assigned
	stats       store.Stats
	layout      [layoutSize]byte
	areas       [1]store.Block
	image       [slotSize]byte // scratch memory for the slot that is written next
}

var (
	_ store.Exporter = (*Table)(nil)
	_ store.Reader   = (*Table)(nil)
)

// New makes an empty table of about Config.Memory / 1080 slots.
func New(cfg store.Config) (*Table, error) {
	cfg, err := cfg.Complete()
	if err != nil {
		return nil, err
	}
	n := uint64(cfg.Memory-overhead) / cell
	if n > maxSlots {
		return nil, fmt.Errorf("slots: memory of %d bytes: a partition can have at most %d slots of %d bytes; use more partitions", cfg.Memory, int64(maxSlots), cell)
	}
	t := &Table{cfg: cfg, n: n, window: windowOf(cfg.Mode, n), last: cfg.FirstVersion}
	if t.slotBlock, err = cfg.Arena.Export("slots", int(n*slotSize), true); err != nil {
		return nil, err
	}
	if t.shadowBlock, err = cfg.Arena.Alloc("slots shadows", int(n*shadowSize)); err != nil {
		return nil, errors.Join(err, t.slotBlock.Free())
	}
	t.slots, t.shadows = t.slotBlock.Bytes(), t.shadowBlock.Bytes()
	t.layout = layoutOf(n, t.window)
	t.areas[0] = t.slotBlock
	return t, nil
}

func windowOf(mode store.Mode, n uint64) uint64 {
	if mode == store.Cache {
		return min(cacheWindow, n)
	}
	return min(storeWindow, n)
}

// Export returns the slots, which clients read, and whose access_count they add to.
func (t *Table) Export() store.Export {
	return store.Export{Layout: t.layout[:], Areas: t.areas[:]}
}

// caches reports whether the table may evict.
func (t *Table) caches() bool { return t.cfg.Mode == store.Cache }

// Stats returns the contents and the counters of the table.
func (t *Table) Stats() store.Stats {
	st := t.stats
	st.Memory = t.cfg.Memory
	st.IndexBytes = int64(t.n * shadowSize)
	st.ItemBytes = st.Items * slotSize
	return st
}

// Close frees the memory.
func (t *Table) Close() error {
	t.slots, t.shadows = nil, nil
	return errors.Join(t.slotBlock.Free(), t.shadowBlock.Free())
}

// slot returns the bytes of slot i.
func (t *Table) slot(i uint64) []byte {
	return t.slots[i*slotSize : (i+1)*slotSize : (i+1)*slotSize]
}

// shadow returns the shadow of slot i.
func (t *Table) shadow(i uint64) shadow {
	return t.shadows[i*shadowSize : (i+1)*shadowSize : (i+1)*shadowSize]
}

// head returns the word that decides what slot i holds (O3).
func (t *Table) head(i uint64) *atomic.Uint64 { return fence.Word(t.slots, int(i*slotSize)) }

// count returns the access_count of slot i.
func (t *Table) count(i uint64) *atomic.Uint64 { return fence.Word(t.slots, int(i*slotSize+atCount)) }

// publish writes the head of slot i.
func (t *Table) publish(i uint64, h head) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(h))
	fence.Publish64(t.head(i), binary.NativeEndian.Uint64(b[:]))
}

// home returns the first slot of a key's window.
func (t *Table) home(key []byte) uint64 { return fnv1a(key) % t.n }

// after returns the slot d slots behind slot i; d is less than the number of slots.
func (t *Table) after(i, d uint64) uint64 {
	if i += d; i >= t.n {
		i -= t.n
	}
	return i
}

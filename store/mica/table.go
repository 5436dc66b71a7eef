package mica

import (
	"errors"
	"fmt"
	"math"

	"github.com/remora-kv/remora/store"
)

// MaxMemory is the largest memory of a partition.
const MaxMemory = 128 << 30

// pageSize divides the size of the block, so that its last page does not exceed
// the memory (S4).
const pageSize = 4096

// Table is one partition. It is a store.Partition, a store.Prefetcher and a store.Linker.
type Table struct {
	mem []byte // of the block
	// The same memory as lines and words, for accesses with a single bounds check.
	byLine []line
	byWord []word
	index
	ring
	pins    pins
	victim  victim
	hints   [hintMost]hint // scratch memory of PrefetchItems
	lookups [lookupCount]lookup

	got       int    // offset of the item that was read or put last, for LinkOf
	changes   uint64 // number of calls that may have moved or removed items
	lookupsAt uint64 // value of changes when the lookups were made

	granule  int
	shift    uint
	large    int  // items from this length on have room for an expiry
	keeping  bool // Store mode
	spares   bool // Cache mode, SecondChance
	maxValue int
	version  uint64  // the last one that was assigned
	credit   int     // items that may be spared
	average  float64 // moving average of the size of items put
	starved  uint64  // entries that displaced others for want of lines since the log turned
	plain    int     // items without room for an expiry
	soonest  int64   // no item expires before this time
	sooner   int64   // the same for the items that this pass has seen
	pace     int     // bytes that this pass sweeps for each byte put
	swept    uint64  // bytes that passes have swept

	hash  func(key []byte) uint64
	stats store.Stats
	block store.Block

	uses      []byte      // counts of uses by clients, or nil
	usesBlock store.Block // of uses
}

var (
	_ store.Partition  = (*Table)(nil)
	_ store.Prefetcher = (*Table)(nil)
	_ store.Linker     = (*Table)(nil)
	_ store.User       = (*Table)(nil)
)

// New makes an empty partition.
func New(cfg store.Config) (*Table, error) {
	cfg, err := cfg.Complete()
	if err != nil {
		return nil, err
	}
	if cfg.Memory > MaxMemory {
		return nil, fmt.Errorf("mica: memory of %d bytes: a partition can have at most %d; use more partitions", cfg.Memory, int64(MaxMemory))
	}
	size := int(cfg.Memory-tableBytes) &^ (pageSize - 1)
	uses := 0
	if cfg.Arena.Exports() && cfg.Mode == store.Cache && cfg.Eviction == store.SecondChance {
		uses = (size/(usesOf+1) + pageSize) &^ (pageSize - 1)
		size -= uses
	}
	block, err := cfg.Arena.Export("mica", size, false)
	if err != nil {
		return nil, fmt.Errorf("mica: %w", err)
	}
	shift := geometry(size)
	t := &Table{
		mem: block.Bytes(), block: block,
		shift: shift, granule: 1 << shift, large: min(1<<10, size/256),
		keeping: cfg.Mode == store.Store, spares: cfg.Mode == store.Cache && cfg.Eviction == store.SecondChance,
		maxValue: cfg.MaxValue, version: cfg.FirstVersion,
		soonest: math.MaxInt64, sooner: math.MaxInt64,
		hash:  cfg.Seed.Hash,
		stats: store.Stats{Memory: cfg.Memory},
	}
	if err := t.makeUses(cfg.Arena, uses); err != nil {
		return nil, errors.Join(err, block.Free())
	}
	t.byLine, t.byWord = linesOf(t.mem), wordsOf(t.mem)
	t.firstLine = size - lineSize
	t.reset()
	return t, nil
}

// reset empties the table.
func (t *Table) reset() {
	t.ring.reset()
	t.mask, t.split, t.spill, t.starved = 0, 0, 0, 0
	*t.line(0) = line{}
	t.soonest, t.sooner = math.MaxInt64, math.MaxInt64
}

// count adds n items with this meta word to the counters.
func (t *Table) count(m meta, n int) {
	t.stats.Items += int64(n)
	t.stats.KeyBytes += int64(n * m.keyLen())
	t.stats.ValueBytes += int64(n * m.valueLen())
	t.stats.ItemBytes += int64(n * t.sizeOf(m))
	if m&metaHasExpiry == 0 {
		t.plain += n
	}
}

// Stats returns the contents and the counters of the partition.
func (t *Table) Stats() store.Stats {
	st := t.stats
	st.IndexBytes = int64(t.lines()) * lineSize
	return st
}

// Close frees the memory. No method may be called after it.
func (t *Table) Close() error {
	err := t.block.Free()
	if t.uses != nil {
		err = errors.Join(err, t.usesBlock.Free())
	}
	t.mem, t.byLine, t.byWord, t.uses = nil, nil, nil, nil
	return err
}

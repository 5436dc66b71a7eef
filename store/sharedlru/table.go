package sharedlru

import (
	"errors"
	"fmt"
	"sync"

	"github.com/remora-kv/remora/store"
)

// Table is the table that the handles share.
type Table struct {
	cfg     store.Config
	handles []Handle
	blocks  []store.Block

	mu      sync.Mutex // guards all fields below (H1)
	index   []byte
	buckets uint64
	chunks  chunks
	order   order
	last    uint64 // the last version that was assigned
	mortal  int64  // items that have an expiry
	hand    ref    // the chunk where a store continues to look for expired items
	shares  []share
	open    int // handles that are not closed
}

// share is the part of the table's items that belongs to a handle.
type share struct {
	items, keyBytes, valueBytes int64
	chunks                      int64
	evicted, expired            uint64
}

// New makes an empty table for a number of handles. Config.Memory is for all together, and
// Config.Eviction is ignored. The memory is freed when the last handle is closed.
func New(cfg store.Config, handles int) (*Table, error) {
	cfg, err := cfg.Complete()
	if err != nil {
		return nil, err
	}
	if handles < 1 || cfg.Memory > maxMemory || cfg.Memory/int64(handles) < store.MinMemory {
		return nil, fmt.Errorf("sharedlru: memory of %d bytes for %d handles: each handle needs at least %d, and all together can use at most %d",
			cfg.Memory, handles, store.MinMemory, int64(maxMemory))
	}
	t := &Table{cfg: cfg, last: cfg.FirstVersion, hand: 1, open: handles}
	t.handles, t.shares = make([]Handle, handles), make([]share, handles)
	if err := t.divide(split(&cfg, handles)); err != nil {
		return nil, errors.Join(err, t.free())
	}
	return t, nil
}

// divide allocates the parts of the memory.
func (t *Table) divide(s sizes) error {
	index, err := t.alloc("shared-lru index", int(s.chunks)/2*bucketSize)
	if err != nil {
		return err
	}
	items, err := t.alloc("shared-lru items", int(s.chunks)*chunkSize)
	if err != nil {
		return err
	}
	views, err := t.alloc("shared-lru views", s.view*len(t.handles))
	if err != nil {
		return err
	}
	t.index, t.buckets = index, uint64(s.chunks)/2
	t.chunks.init(items, s.chunks)
	for i := range t.handles {
		from, to := i*s.view, (i+1)*s.view
		t.handles[i] = Handle{table: t, number: i, view: views[from:to:to]}
	}
	return nil
}

func (t *Table) alloc(purpose string, size int) ([]byte, error) {
	b, err := t.cfg.Arena.Alloc(purpose, size)
	if err != nil {
		return nil, err
	}
	t.blocks = append(t.blocks, b)
	return b.Bytes(), nil
}

// free frees the memory.
func (t *Table) free() (err error) {
	for _, b := range t.blocks {
		err = errors.Join(err, b.Free())
	}
	t.blocks, t.index, t.chunks.mem = nil, nil, nil
	return err
}

// Handle returns the handle with a number from 0 on; always the same for the same number.
func (t *Table) Handle(number int) *Handle { return &t.handles[number] }

// caches reports whether the table may evict.
func (t *Table) caches() bool { return t.cfg.Mode == store.Cache }

// shareOf returns the share that an item belongs to.
func (t *Table) shareOf(at ref) *share {
	return &t.shares[store.PartitionOf(t.hash(at), len(t.shares))]
}

// added counts an item.
func (t *Table) added(at ref) { t.count(at, 1) }

// removed takes an item out of the counts.
func (t *Table) removed(at ref) { t.count(at, -1) }

func (t *Table) count(at ref, n int64) {
	s := t.shareOf(at)
	s.items += n
	s.keyBytes += n * int64(t.keySize(at))
	s.valueBytes += n * int64(t.valueSize(at))
	s.chunks += n * int64(t.size(at))
	t.mortal += n * dies(t.expires(at))
}

// dies returns 1 if expires is a time and 0 if it is never.
func dies(expires int64) int64 {
	if expires != 0 {
		return 1
	}
	return 0
}

// remove removes an item from its row, the LRU list and the counts, and frees its chunks.
func (t *Table) remove(at ref) {
	t.removed(at)
	t.leave(at)
	t.pull(at)
	t.chunks.give(at, t.size(at))
}

// reclaim removes an expired item.
func (t *Table) reclaim(at ref) {
	t.shareOf(at).expired++
	t.remove(at)
}

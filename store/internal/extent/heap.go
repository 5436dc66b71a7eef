package extent

import (
	"errors"

	"github.com/remora-kv/remora/store"
)

// Heap is the items of a partition without their index: a Space with an item in each block
// in use, and counters. The table that owns it has the index.
type Heap struct {
	Space
	Counts
	Config     store.Config
	Stats      store.Stats // counters of events; the contents are in Counts
	Last       uint64      // the last version that was assigned
	indexBlock store.Block
	itemBlock  store.Block
	table      Table
}

// Counts counts the items.
type Counts struct {
	Items                int64
	KeyBytes, ValueBytes int64
	Mortal               int64 // items that have an expiry time
}

// Count adds n items like this one.
func (c *Counts) Count(r Record, n int64) {
	c.Items += n
	c.KeyBytes += n * int64(r.KeySize())
	c.ValueBytes += n * int64(r.ValueSize())
	c.Mortal += n * dies(r.Expires())
}

// Renew counts that the expiry time of an item changes from old to expires.
func (c *Counts) Renew(old, expires int64) { c.Mortal += dies(expires) - dies(old) }

// dies returns 1 if expires is a time and 0 if it is never.
func dies(expires int64) int64 {
	if expires != 0 {
		return 1
	}
	return 0
}

// Open allocates the memory of the index and the items, and exports it to clients if
// exported. The name is that of the engine.
func (h *Heap) Open(cfg store.Config, name string, indexSize, itemMemory uint64, exported bool, table Table) (index []byte, err error) {
	alloc := cfg.Arena.Alloc
	if exported {
		alloc = func(purpose string, size int) (store.Block, error) {
			return cfg.Arena.Export(purpose, size, false)
		}
	}
	if h.indexBlock, err = alloc(name+" index", int(indexSize)); err != nil {
		return nil, err
	}
	if h.itemBlock, err = alloc(name+" items", int(itemMemory)); err != nil {
		return nil, errors.Join(err, h.indexBlock.Free())
	}
	h.Config, h.Last, h.table = cfg, cfg.FirstVersion, table
	h.Init(h.itemBlock.Bytes())
	return h.indexBlock.Bytes(), nil
}

// Areas returns the blocks of the index and the items, which clients can read.
func (h *Heap) Areas() []store.Block { return []store.Block{h.indexBlock, h.itemBlock} }

// Close frees the memory.
func (h *Heap) Close() error {
	h.mem = nil
	return errors.Join(h.indexBlock.Free(), h.itemBlock.Free())
}

// Caches reports whether the table may evict.
func (h *Heap) Caches() bool { return h.Config.Mode == store.Cache }

// Report returns the Stats of the partition. All blocks in use count as items.
func (h *Heap) Report() store.Stats {
	st := h.Stats
	st.Items, st.KeyBytes, st.ValueBytes = h.Items, h.KeyBytes, h.ValueBytes
	st.Memory = h.Config.Memory
	st.ItemBytes = int64(h.Used())
	return st
}

// Record returns the record whose body is at offset body.
func (h *Heap) Record(body uint64) Record { return RecordIn(h.mem, body) }

// SetHeader writes the fields before the key of the record whose body is at offset body. It
// writes the next version, which Commit assigns.
func (h *Heap) SetHeader(body uint64, k store.Key, e *store.Entry) {
	h.SetWord(body+BodyHash, k.Hash)
	h.SetWord(body+BodyExpires, uint64(e.Expires))
	h.SetWord(body+BodyFlags, uint64(e.Flags)|uint64(len(e.Value))<<32)
	h.SetWord(body-WordSize, NewWord(h.Last+1, len(k.Bytes)))
}

// Gave reports whether the partition has assigned this version.
func (h *Heap) Gave(version uint64) bool {
	return version > h.Config.FirstVersion && version <= h.Last
}

// Commit completes a Put that has stored an item, and returns its version.
func (h *Heap) Commit(r Record) (uint64, error) {
	h.Last++
	h.Count(r, 1)
	h.Stats.Puts++
	return h.Last, nil
}

// Refuse completes a Put for which there is no room.
func (h *Heap) Refuse() (uint64, error) {
	h.Stats.Refused++
	return 0, store.ErrFull
}

// Delete counts the Delete of an item of this version, or returns an error if the condition
// is not met or the version is 0 (no item).
func (h *Heap) Delete(version uint64, c store.Condition) error {
	if err := c.Met(version); err != nil {
		return err
	}
	if version == 0 {
		return store.ErrNotFound
	}
	h.Stats.Deletes++
	return nil
}

// Lose counts an item that is removed to make room, as expired or as evicted.
func (h *Heap) Lose(r Record, now int64) {
	if r.Expired(now) {
		h.Stats.Expired++
	} else {
		h.Stats.Evicted++
	}
}

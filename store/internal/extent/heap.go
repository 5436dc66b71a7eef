package extent

import (
	"errors"

	"github.com/remora-kv/remora/store"
)

// Heap is the items of a partition without their index: a Space, in whose blocks they are,
// and what the partition counts. The table that owns it brings the index.
type Heap struct {
	Space
	Counts
	Config     store.Config
	Stats      store.Stats // of events; the present contents are in Counts
	Last       uint64      // the last version that was given
	indexBlock store.Block
	itemBlock  store.Block
	table      Table
}

// Counts is how many items there are.
type Counts struct {
	Items                int64
	KeyBytes, ValueBytes int64
	Mortal               int64 // items that will expire
}

// Count adds n items like this one.
func (c *Counts) Count(r Record, n int64) {
	c.Items += n
	c.KeyBytes += n * int64(r.KeySize())
	c.ValueBytes += n * int64(r.ValueSize())
	c.Mortal += n * dies(r.Expires())
}

// Renew counts an item that expires at another time.
func (c *Counts) Renew(old, expires int64) { c.Mortal += dies(expires) - dies(old) }

// dies is 1 if an item of this expiry will expire, and 0 if not.
func dies(expires int64) int64 {
	if expires != 0 {
		return 1
	}
	return 0
}

// Open allocates the index and the memory of the items, for clients to read if the
// table is exported. The name is that of the engine.
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

// Areas returns what clients can read: the index and the memory of the items.
func (h *Heap) Areas() []store.Block { return []store.Block{h.indexBlock, h.itemBlock} }

// Close frees the memory.
func (h *Heap) Close() error {
	h.mem = nil
	return errors.Join(h.indexBlock.Free(), h.itemBlock.Free())
}

// Caches reports whether the table may evict.
func (h *Heap) Caches() bool { return h.Config.Mode == store.Cache }

// Report returns the Stats of a partition, of which all blocks are items.
func (h *Heap) Report() store.Stats {
	st := h.Stats
	st.Items, st.KeyBytes, st.ValueBytes = h.Items, h.KeyBytes, h.ValueBytes
	st.Memory = h.Config.Memory
	st.ItemBytes = int64(h.Used())
	return st
}

// Record returns the record whose body is at a place.
func (h *Heap) Record(body uint64) Record { return RecordIn(h.mem, body) }

// SetHeader writes what is before the key of the record whose body is at a place. The
// version is the next one: the item is there when its Put is committed.
func (h *Heap) SetHeader(body uint64, k store.Key, e *store.Entry) {
	h.SetWord(body+BodyHash, k.Hash)
	h.SetWord(body+BodyExpires, uint64(e.Expires))
	h.SetWord(body+BodyFlags, uint64(e.Flags)|uint64(len(e.Value))<<32)
	h.SetWord(body-WordSize, NewWord(h.Last+1, len(k.Bytes)))
}

// Gave reports whether this version was given.
func (h *Heap) Gave(version uint64) bool {
	return version > h.Config.FirstVersion && version <= h.Last
}

// Commit ends a Put that has stored an item.
func (h *Heap) Commit(r Record) (uint64, error) {
	h.Last++
	h.Count(r, 1)
	h.Stats.Puts++
	return h.Last, nil
}

// Refuse ends a Put for which there is no room.
func (h *Heap) Refuse() (uint64, error) {
	h.Stats.Refused++
	return 0, store.ErrFull
}

// Delete counts a Delete of an item of this version, 0 for none, unless it returns why there
// is nothing to be deleted.
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

// Lose counts an item that is lost to make room, or had expired.
func (h *Heap) Lose(r Record, now int64) {
	if r.Expired(now) {
		h.Stats.Expired++
	} else {
		h.Stats.Evicted++
	}
}

package sharedlru

import "github.com/remora-kv/remora/store"

// Handle is the partition of one core: a way to the table, and memory for what it
// hands out (H6).
type Handle struct {
	table  *Table
	number int
	view   []byte
	did    did // with the lock of the table held
	closed bool
}

// did counts the calls of a handle.
type did struct {
	gets, hits, puts, deletes, refused uint64
}

var (
	_ store.Partition = (*Handle)(nil)
	_ store.Reader    = (*Handle)(nil)
)

// Stats returns the share of this handle: see the package doc.
func (h *Handle) Stats() store.Stats {
	t := h.table
	t.mu.Lock()
	defer t.mu.Unlock()
	s := &t.shares[h.number]
	return store.Stats{
		Items: s.items, KeyBytes: s.keyBytes, ValueBytes: s.valueBytes,
		Memory: h.part(t.cfg.Memory), IndexBytes: h.part(int64(t.buckets) * bucketSize), ItemBytes: s.chunks * chunkSize,
		Gets: h.did.gets, Hits: h.did.hits, Puts: h.did.puts, Deletes: h.did.deletes,
		Evicted: s.evicted, Expired: s.expired, Refused: h.did.refused,
	}
}

// part is the handle's part of a sum over all; the first takes the remainder.
func (h *Handle) part(all int64) int64 {
	n := int64(len(h.table.handles))
	if h.number == 0 {
		return all/n + all%n
	}
	return all / n
}

// Close ends the handle. The memory is freed when all are closed.
func (h *Handle) Close() error {
	t := h.table
	t.mu.Lock()
	defer t.mu.Unlock()
	if h.closed {
		panic("sharedlru: a handle is closed twice")
	}
	h.closed, h.view = true, nil
	if t.open--; t.open != 0 {
		return nil
	}
	return t.free()
}

package sharedlru

import "github.com/remora-kv/remora/store"

// Handle is the partition of one core: a reference to the table, and memory for the items
// that it returns (H6).
type Handle struct {
	table  *Table
	number int
	view   []byte
	calls  callCounts // under the lock of the table
	closed bool
}

// callCounts counts the calls of a handle.
type callCounts struct {
	gets, hits, puts, deletes, refused uint64
}

var (
	_ store.Partition = (*Handle)(nil)
	_ store.Reader    = (*Handle)(nil)
)

// Stats returns the share of this handle (see the package doc).
func (h *Handle) Stats() store.Stats {
	t := h.table
	t.mu.Lock()
	defer t.mu.Unlock()
	s := &t.shares[h.number]
	return store.Stats{
		Items: s.items, KeyBytes: s.keyBytes, ValueBytes: s.valueBytes,
		Memory: h.part(t.cfg.Memory), IndexBytes: h.part(int64(t.buckets) * bucketSize), ItemBytes: s.chunks * chunkSize,
		Gets: h.calls.gets, Hits: h.calls.hits, Puts: h.calls.puts, Deletes: h.calls.deletes,
		Evicted: s.evicted, Expired: s.expired, Refused: h.calls.refused,
	}
}

// part returns the handle's part of a total; the first handle takes the remainder.
func (h *Handle) part(all int64) int64 {
	n := int64(len(h.table.handles))
	if h.number == 0 {
		return all/n + all%n
	}
	return all / n
}

// Close closes the handle. The memory is freed when all handles are closed.
func (h *Handle) Close() error {
	t := h.table
	t.mu.Lock()
	defer t.mu.Unlock()
	if h.closed {
		panic("sharedlru: a handle was closed twice")
	}
	h.closed, h.view = true, nil
	if t.open--; t.open != 0 {
		return nil
	}
	return t.free()
}

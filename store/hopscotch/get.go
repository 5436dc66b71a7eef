package hopscotch

import (
	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/internal/extent"
)

// Get returns the item and marks it as used.
func (t *Table) Get(k store.Key, now int64) (item store.Item, err error) {
	err = t.Read(k, now, &item)
	return item, err
}

// Read does what Get does, and writes the item to *item.
func (t *Table) Read(k store.Key, now int64, item *store.Item) error {
	t.heap.Stats.Gets++
	p := t.live(k.Hash, k.Bytes, now)
	if !p.isFound() {
		return store.ErrNotFound
	}
	t.heap.Stats.Hits++
	t.noteUse(p)
	t.record(p).Show(item)
	return nil
}

// noteUse gives an item full credit, in a cache whose eviction is not FIFO.
func (t *Table) noteUse(p place) {
	if t.heap.Caches() && t.heap.Config.Eviction != store.FIFO && t.label(p.slot).credit() < fullCredit {
		t.setCredit(p.slot, fullCredit)
	}
}

// Touch sets the time when the item expires, and marks it as used. It reads the whole item
// for its new checksum.
func (t *Table) Touch(k store.Key, expires, now int64) error {
	p := t.live(k.Hash, k.Bytes, now)
	if !p.isFound() {
		return store.ErrNotFound
	}
	t.heap.Renew(t.record(p).Expires(), expires)
	if p.off == 0 {
		t.setSlotWord(p.slot, atInlineBody+extent.BodyExpires, uint64(expires))
		t.setSlotWord(p.slot, atInlineSum, sum(t.inline(p.slot), t.seed, 0))
	} else {
		t.heap.SetWord(p.off+atBody+extent.BodyExpires, uint64(expires))
		t.sealBlock(p.off)
	}
	t.noteUse(p)
	return nil
}

// Each visits the inline items, then the others in the order of their offsets.
func (t *Table) Each(now int64, visit func(k store.Key, item store.Item) bool) {
	for i := range t.homes + reach - 1 {
		if t.label(i) != 0 && t.lead(i).offset() == 0 && !show(t.inline(i), now, visit) {
			return
		}
	}
	s := &t.heap
	for off := s.First(); off < s.End(); off = s.Next(off) {
		if s.Kind(off) == extent.Taken && !show(t.block(off), now, visit) {
			return
		}
	}
}

// show visits a record unless it has expired, and reports whether to continue.
func show(r extent.Record, now int64, visit func(k store.Key, item store.Item) bool) bool {
	if r.Expired(now) {
		return true
	}
	var item store.Item
	r.Show(&item)
	return visit(r.StoreKey(), item)
}

package cuckoo

import (
	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/internal/extent"
)

// Put stores e under the key if the condition is met.
//
// Key and value may be views of items that this call frees or overwrites (S5). Freeing a
// block does not harm a view (X2 of extent), no item is moved to where a view may be
// (MakeRoom of extent), and Fill copies both before it trims a block.
func (t *Table) Put(k store.Key, e store.Entry, c store.Condition, now int64) (uint64, error) {
	if len(k.Bytes) > store.MaxKey || len(e.Value) > t.heap.Config.MaxValue {
		return 0, store.ErrTooLarge
	}
	p := t.live(k.Hash, k.Bytes, now)
	if err := c.Met(t.versionAt(p)); err != nil {
		return 0, err
	}
	need := blockSize(len(k.Bytes), len(e.Value))
	if need > t.heap.Largest() || t.heap.Last == store.MaxVersion {
		return t.heap.Refuse()
	}
	switch off := t.heap.Take(need); {
	case off != 0:
		t.fill(off, k, &e)
		return t.link(p, off, now)
	case p.off != 0 && t.heap.Around(p.off) >= need:
		return t.overwrite(p, k, &e, need)
	}
	off := t.heap.MakeRoom(need, now, k.Bytes, e.Value)
	if off == 0 {
		return t.heap.Refuse()
	}
	t.fill(off, k, &e)
	// The old item may have been moved or evicted.
	return t.link(t.find(k.Hash, t.record(off).Key()), off, now)
}

// overwrite puts an item into the block of the old one and the free blocks beside it (C7).
func (t *Table) overwrite(p place, k store.Key, e *store.Entry, need uint64) (uint64, error) {
	t.heap.Count(t.record(p.off), -1)
	off := p.off
	if t.heap.Size(off) < need {
		off = t.heap.Give(off)
		t.heap.Claim(off)
	}
	t.heap.SetKind(off, plain)
	t.fill(off, k, e)
	t.rename(p.bucket, t.entryFor(off))
	return t.heap.Commit(t.record(off))
}

// link makes the index name a new item, and frees the block of the replaced one. It
// refuses a new key if there is no bucket for it.
func (t *Table) link(old place, off uint64, now int64) (uint64, error) {
	e := t.entryFor(off)
	if old.off != 0 {
		t.rename(old.bucket, e)
		t.heap.Count(t.record(old.off), -1)
		t.heap.Give(old.off)
		return t.heap.Commit(t.record(off))
	}
	bucket, ok := t.vacant(e.tag(), now)
	if !ok {
		t.heap.Give(off)
		return t.heap.Refuse()
	}
	t.enter(bucket, e)
	return t.heap.Commit(t.record(off))
}

// entryFor returns the entry of an item.
func (t *Table) entryFor(off uint64) entry {
	r := t.record(off)
	return entryOf(r.Version(), off, extent.RoundUp(atBody+r.Size()), t.tagOf(r.Hash()))
}

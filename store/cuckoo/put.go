package cuckoo

import "github.com/remora-kv/remora/store"

// Put stores e under the key if the condition is met.
//
// Key and value may be views of items that this very call frees or overwrites (S5). To
// free a block does not harm a view (X2 of extent), nothing is moved to where one may be
// (MayMove), and Fill copies both before it cuts a block.
func (t *Table) Put(k store.Key, e store.Entry, c store.Condition, now int64) (uint64, error) {
	if len(k.Bytes) > store.MaxKey || len(e.Value) > t.cfg.MaxValue {
		return 0, store.ErrTooLarge
	}
	p := t.live(k.Hash, k.Bytes, now)
	if err := c.Met(t.versionAt(p)); err != nil {
		return 0, err
	}
	need := blockSize(len(k.Bytes), len(e.Value))
	if need > t.space.Largest() || t.last == store.MaxVersion {
		return t.refuse()
	}
	switch off := t.space.Take(need); {
	case off != 0:
		t.fill(off, &k, &e)
		return t.link(p, off, now)
	case p.off != 0 && t.space.Around(p.off) >= need:
		return t.overwrite(p, &k, &e, need)
	}
	off := t.makeRoom(need, now, t.space.MayMove(k.Bytes, e.Value))
	if off == 0 {
		return t.refuse()
	}
	t.fill(off, &k, &e)
	// What was there may have been moved or evicted.
	return t.link(t.find(k.Hash, t.keyOf(off)), off, now)
}

// overwrite puts an item where it was, into its block and the free ones beside it (C7).
func (t *Table) overwrite(p place, k *store.Key, e *store.Entry, need uint64) (uint64, error) {
	t.removed(p.off)
	off := p.off
	if t.space.Size(off) < need {
		off = t.space.Give(off)
		t.space.Claim(off)
	}
	t.space.SetKind(off, plain)
	t.fill(off, k, e)
	t.rename(p.bucket, t.entryFor(off))
	return t.commit(off)
}

// link has the index name a new item, and frees the block of the one that it replaces. It
// refuses a new key for which there is no bucket.
func (t *Table) link(old place, off uint64, now int64) (uint64, error) {
	e := t.entryFor(off)
	if old.off != 0 {
		t.rename(old.bucket, e)
		t.removed(old.off)
		t.space.Give(old.off)
		return t.commit(off)
	}
	bucket, ok := t.vacant(e.tag(), now)
	if !ok {
		t.space.Give(off)
		return t.refuse()
	}
	t.enter(bucket, e)
	return t.commit(off)
}

// entryFor returns the entry of an item.
func (t *Table) entryFor(off uint64) entry {
	return entryOf(t.version(off), off, t.itemSize(off), t.tagOf(t.hash(off)))
}

// commit counts a Put of the item at off, whose version is the next.
func (t *Table) commit(off uint64) (uint64, error) {
	t.last++
	t.added(off)
	t.stats.Puts++
	return t.last, nil
}

func (t *Table) refuse() (uint64, error) {
	t.stats.Refused++
	return 0, store.ErrFull
}

// fill writes an item into a block that was taken.
func (t *Table) fill(off uint64, k *store.Key, e *store.Entry) {
	t.space.Fill(off, atKey, k.Bytes, e.Value)
	t.writeHeader(off, k.Hash, len(k.Bytes), e, t.last+1)
}

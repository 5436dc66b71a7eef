package mica

import "github.com/remora-kv/remora/store"

// Put stores an item if the condition is met, and returns its new version.
func (t *Table) Put(k store.Key, e store.Entry, c store.Condition, now int64) (uint64, error) {
	if len(k.Bytes) > store.MaxKey || len(e.Value) > t.maxValue {
		return 0, store.ErrTooLarge
	}
	// An entry under a wrong hash could not be found when its item is evicted, and would
	// refer to whatever is written there next (M2).
	k.Hash = t.hash(k.Bytes)
	t.got = 0
	s := t.find(k.Hash, k.Bytes)
	if err := c.Met(t.presentVersion(s, now)); err != nil {
		return 0, err
	}
	d := draft{
		key: k.Bytes, value: e.Value, hash: k.Hash,
		expires: e.Expires, flags: e.Flags, version: t.version + 1,
	}
	t.shape(&d)
	if t.version == store.MaxVersion || !t.store(&d, s, now) {
		t.stats.Refused++
		return 0, store.ErrFull
	}
	t.version++
	t.stats.Puts++
	return d.version, nil
}

// store writes an item, in place of the one in the slot if there is one. If there is no
// room, it returns false and has changed nothing.
func (t *Table) store(d *draft, s slot, now int64) bool {
	room := 0
	if s.at != 0 {
		room = t.roomAt(s.at, d)
	}
	switch {
	case room != 0:
		t.replace(d, s, room, now) // no item is removed or moved: lookups stay valid
		return true
	case t.keeping:
		t.changes++
		return t.keep(d, s, now)
	default:
		t.changes++
		return t.cache(d, s, now)
	}
}

// usedMark returns the state bit of a used item, 0 if the table does not spare used items.
func (t *Table) usedMark() meta {
	if t.spares {
		return metaUsed
	}
	return 0
}

// cache appends an item, and evicts others to make room.
func (t *Table) cache(d *draft, s slot, now int64) bool {
	if !t.fits(d.size, now) {
		return false
	}
	if t.stats.Items == 0 {
		s = slot{} // fits evicted it with all others
	}
	inLog := t.inLog(d)
	if s.at != 0 {
		t.detach(s, now)
	}
	t.averageIn(d.size)
	at := t.makeRoom(d.size, now, inLog)
	t.forgetUses(at)
	if inLog {
		t.writeFromLog(at, d)
	} else {
		t.write(at, d)
	}
	t.enter(d, at, s.at != 0, now)
	return true
}

// detach kills an item whose entry will belong to another one.
func (t *Table) detach(s slot, now int64) {
	m := t.metaOf(s.at)
	if t.expired(s.at, m, now) {
		t.stats.Expired++
	}
	t.kill(s.at, m)
	t.lineAt(s.line).setPosition(s.i, reserved)
}

// enter makes the entry of an item that was written, or fills in the one that was
// detached for it.
func (t *Table) enter(d *draft, at int, detached bool, now int64) {
	if detached {
		s := t.locate(d.hash, reserved)
		t.lineAt(s.line).setPosition(s.i, t.position(at))
	} else {
		t.addEntry(d.hash, t.position(at), now)
	}
	t.got = at
	t.count(d.meta, 1)
	t.noteExpiry(d.expires)
	t.adapt()
}

// addEntry makes an entry. In a Cache it may displace another.
func (t *Table) addEntry(hash uint64, position uint32, now int64) {
	tag := tagOf(hash)
	c := t.chainOf(t.bucketOf(hash), tag)
	switch {
	case c.flooded():
		t.displace(taggedPeers(hash), position, now)
	case c.crowded():
		t.displace(allPeers(hash), position, now)
	case c.full() && !t.lineIsFree():
		t.displace(allPeers(hash), position, now)
		t.starve(now)
	default:
		t.push(&c, tag, position)
	}
}

// noteExpiry maintains the time before which no item expires.
func (t *Table) noteExpiry(expires int64) {
	if expires != 0 {
		t.soonest, t.sooner = min(t.soonest, expires), min(t.sooner, expires)
	}
}

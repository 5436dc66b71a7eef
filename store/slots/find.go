package slots

import (
	"bytes"

	"github.com/remora-kv/remora/store"
)

// nowhere is not a slot.
const nowhere = ^uint64(0)

// find returns the slot of a key, or nowhere. It removes items of this hash that do not
// match their checksum: each may have been the item of the key (O6).
func (t *Table) find(k store.Key) uint64 {
	home := t.home(k.Bytes)
	for d := range t.window {
		i := t.after(home, d)
		s := t.shadow(i)
		if s.state() == empty {
			break
		}
		if s.state() != occupied || s.hash() != k.Hash || s.keySize() != len(k.Bytes) {
			continue
		}
		if bytes.Equal(t.keyOf(i), k.Bytes) {
			return i
		}
		if !t.fits(i) {
			t.remove(i)
		}
	}
	return nowhere
}

// live is find, except that it removes the item if it has expired.
func (t *Table) live(k store.Key, now int64) uint64 {
	i := t.find(k)
	if i != nowhere && t.shadow(i).expired(now) {
		t.stats.Expired++
		t.remove(i)
		return nowhere
	}
	return i
}

// sound is live, except that it removes the item if it does not match its checksum.
func (t *Table) sound(k store.Key, now int64) uint64 {
	i := t.live(k, now)
	if i != nowhere && !t.fits(i) {
		t.remove(i)
		return nowhere
	}
	return i
}

// fits reports whether an item matches the checksum in its shadow.
func (t *Table) fits(i uint64) bool {
	s := t.shadow(i)
	return sumOf(t.slot(i), s.head(), s.valueSize()) == s.sum()
}

// keyOf returns the key in slot i, with the length in the shadow.
func (t *Table) keyOf(i uint64) []byte { return t.slot(i)[atKey:][:t.shadow(i).keySize()] }

// show fills in item from the shadow; the value is a view of the slot.
func (t *Table) show(i uint64, item *store.Item) {
	s := t.shadow(i)
	n := s.valueSize()
	item.Value = t.slot(i)[atValue:][:n:n]
	item.Version = s.version()
	item.Expires = s.expires()
	item.Flags = s.flags()
}

// versionAt returns the version of the item in slot i, 0 for nowhere.
func (t *Table) versionAt(i uint64) uint64 {
	if i == nowhere {
		return 0
	}
	return t.shadow(i).version()
}

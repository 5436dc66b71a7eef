package slots

import (
	"encoding/binary"

	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/store"
)

// Get returns the item and counts it as used.
func (t *Table) Get(k store.Key, now int64) (item store.Item, err error) {
	err = t.Read(k, now, &item)
	return item, err
}

// Read does what Get does, and writes the item to *item.
func (t *Table) Read(k store.Key, now int64, item *store.Item) error {
	t.stats.Gets++
	i := t.sound(k, now)
	if i == nowhere {
		return store.ErrNotFound
	}
	t.stats.Hits++
	t.use(t.shadow(i), 1)
	t.show(i, item)
	return nil
}

// Touch sets the time when the item expires, and counts it as used. Clients read the old
// time, the new one, or bytes that do not match the checksum.
func (t *Table) Touch(k store.Key, expires, now int64) error {
	i := t.sound(k, now)
	if i == nowhere {
		return store.ErrNotFound
	}
	s, slot := t.shadow(i), t.slot(i)
	trailer := t.image[atTrailer:]
	binary.LittleEndian.PutUint32(trailer, s.flags())
	binary.LittleEndian.PutUint32(trailer[4:], uint32(s.valueSize()))
	binary.LittleEndian.PutUint64(trailer[8:], uint64(expires))
	copy(t.image[atKey:], slot[atKey:atValue+s.valueSize()+1])
	sum := sumOf(t.image[:], s.head(), s.valueSize())
	binary.LittleEndian.PutUint64(trailer[16:], sum)
	fence.CopyOut(slot[atTrailer:], trailer)
	s.touch(expires, sum)
	t.use(s, 1)
	return nil
}

// Each visits the items in the order of the slots, except those that do not match their
// checksum.
func (t *Table) Each(now int64, visit func(k store.Key, item store.Item) bool) {
	var item store.Item
	for i := range t.n {
		s := t.shadow(i)
		if s.state() != occupied || s.expired(now) || !t.fits(i) {
			continue
		}
		t.show(i, &item)
		if !visit(store.Key{Hash: s.hash(), Bytes: t.keyOf(i)}, item) {
			return
		}
	}
}

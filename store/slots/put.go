package slots

import (
	"encoding/binary"

	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/store"
)

// Put stores e under the key if the condition is met.
//
// Key and value may be views of a slot that this call gives to the item (S5). They are
// first copied into the image; evicting or reclaiming an item changes only its head.
func (t *Table) Put(k store.Key, e store.Entry, c store.Condition, now int64) (uint64, error) {
	if len(k.Bytes) > MaxKey || len(e.Value) > min(MaxValue, t.cfg.MaxValue) {
		return 0, store.ErrTooLarge
	}
	i := t.live(k, now)
	if err := c.Met(t.versionAt(i)); err != nil {
		return 0, err
	}
	if t.last == store.MaxVersion {
		return t.refuse()
	}
	t.compose(k, e)
	if i != nowhere {
		t.uncount(i)
	} else if i = t.room(k, now); i == nowhere {
		return t.refuse()
	}
	t.last++
	t.write(i, k, e)
	t.stats.Puts++
	return t.last, nil
}

func (t *Table) refuse() (uint64, error) {
	t.stats.Refused++
	return 0, store.ErrFull
}

// compose makes the image of the slot without head and checksum.
func (t *Table) compose(k store.Key, e store.Entry) {
	key := t.image[atKey:atValue]
	clear(key[copy(key, k.Bytes):])
	value := t.image[atValue:atTrailer]
	n := copy(value, e.Value)
	clear(value[n:roundUp(n+1)])
	binary.LittleEndian.PutUint32(t.image[atFlags:], e.Flags)
	binary.LittleEndian.PutUint32(t.image[atLength:], uint32(n))
	binary.LittleEndian.PutUint64(t.image[atExpires:], uint64(e.Expires))
}

// write copies the image to slot i in whole words, the head last (O3).
func (t *Table) write(i uint64, k store.Key, e store.Entry) {
	h, slot := newHead(t.last, len(k.Bytes)), t.slot(i)
	sum := sumOf(t.image[:], h, len(e.Value))
	binary.LittleEndian.PutUint64(t.image[atSum:], sum)
	end := atValue + roundUp(len(e.Value)+1)
	fence.CopyOut(slot[atKey:end], t.image[atKey:end])
	fence.CopyOut(slot[atTrailer:], t.image[atTrailer:])
	t.publish(i, h)
	t.shadow(i).hold(&contents{
		keySize: len(k.Bytes), valueSize: len(e.Value), flags: e.Flags,
		version: t.last, hash: k.Hash, expires: e.Expires, sum: sum,
	})
	t.stats.Items++
	t.stats.KeyBytes += int64(len(k.Bytes))
	t.stats.ValueBytes += int64(len(e.Value))
}

// roundUp returns n rounded up to words.
func roundUp(n int) int { return (n + 7) &^ 7 }

// room returns a slot for a new key: the first slot of its window without an item, or that
// of an item that it drops or evicts. It returns nowhere if there is none.
func (t *Table) room(k store.Key, now int64) uint64 {
	home := t.home(k.Bytes)
	free, victim := nowhere, nowhere
	for d := uint64(0); d < t.window && free == nowhere; d++ {
		i := t.after(home, d)
		switch s := t.shadow(i); {
		case s.state() != occupied:
			free = i
		case s.expired(now):
			victim = i
		}
	}
	switch {
	case free != nowhere:
	case victim != nowhere:
		t.stats.Expired++
		t.makeTombstone(victim)
		free = victim
	case t.caches():
		free = t.evict(home)
	default:
		return nowhere
	}
	fence.Publish64(t.count(free), 0)
	t.shadow(free).leave(tombstone) // no points, no uses
	return free
}

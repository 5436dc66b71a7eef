package storetest

import (
	"bytes"

	"github.com/remora-kv/remora/store"
)

const (
	ruleView   = "A view (Item.Value) aliases the engine's memory and is valid until the next call on the partition that may change it: Put, Delete, Touch, Close."
	ruleCopied = "Keys and values that are passed in are copied before the call returns, and may alias a view of the same partition."
)

func viewCases() []*testCase {
	return join(
		both("S5/view-stays", ruleView, viewStays),
		both("S5/view-outlives-expiry", ruleView, viewOutlivesExpiry),
		both("S5/scribble", ruleCopied, scribbled),
		both("S5/alias-same-key", ruleCopied, aliasSameKey),
		both("S5/alias-other-key", ruleCopied, aliasOtherKey),
		both("S5/alias-as-key", ruleCopied, aliasAsKey),
		both("S5/alias-when-full", ruleCopied, aliasWhenFull),
		both("S5/alias-large", ruleCopied, aliasLarge),
	)
}

// viewStays keeps views during all calls that may not change them.
func viewStays(t *trial) {
	tb := t.open()
	for i := range 100 {
		tb.mustPut(numbered(i, 16), pattern(uint64(i), i*7))
	}
	for i := range 100 {
		tb.mustGet(numbered(i, 16)) // the table watches the view from now on
		if i%maxViews != maxViews-1 {
			continue
		}
		for j := range 200 {
			tb.get(numbered(j, 16))
		}
		tb.sync()
		tb.verifyViews()
		tb.views = tb.views[:0]
	}
}

// viewOutlivesExpiry lets an item expire while a view of it is
// in use: Get may remove the item, but not reuse its memory.
func viewOutlivesExpiry(t *trial) {
	tb := t.open()
	tb.now = 10
	for i := range maxViews {
		tb.mustPutEntry(numbered(i, 16), store.Entry{Value: pattern(uint64(i), 20+i*10), Expires: 20})
	}
	for i := range maxViews {
		tb.mustGet(numbered(i, 16))
	}
	tb.now = 30
	for range 3 {
		for i := range maxViews {
			if tb.get(numbered(i, 16)) != nil {
				t.Fatalf("an item outlived its expiry")
			}
		}
		tb.sync()
	}
	tb.verifyViews()
}

// scribbled uses a crowded partition, while the table overwrites its inputs after each call.
func scribbled(t *trial) {
	tb := t.open(memory(128 << 10))
	for i := range t.times(750) {
		key := numbered(i%700, 16)
		if _, err := tb.put(key, store.Entry{Value: pattern(uint64(i), i%300)}, store.Always()); err == nil {
			tb.mustGet(key)
		}
	}
}

// viewOf returns a key and its item, as a view.
func (tb *table) viewOf(key []byte) (store.Key, store.Item) {
	tb.Helper()
	tb.endShortViews()
	k := store.Key{Hash: tb.hash(key), Bytes: bytes.Clone(key)}
	item, err := tb.p.Get(k, tb.now)
	if err != nil {
		tb.Fatalf("Get of key %s: %v", short(key), err)
	}
	tb.stats = tb.p.Stats()
	return k, item
}

// aliasSameKey replaces a value by parts of itself.
func aliasSameKey(t *trial) {
	tb := t.open()
	key := []byte("key")
	for _, n := range []int{1, 8, 100, min(5000, tb.maxValue())} {
		for from := 0; from <= n; from += 1 + n/7 {
			for to := from; to <= n; to += 1 + n/5 {
				tb.mustPut(key, pattern(uint64(n), n))
				k, item := tb.viewOf(key)
				if _, err := tb.putAsIs(k, store.Entry{Value: item.Value[from:to]}, store.Always()); err != nil {
					t.Fatalf("Put: %v", err)
				}
				tb.mustGet(key)
			}
		}
	}
}

// aliasOtherKey copies values between items, in whole and in part.
func aliasOtherKey(t *trial) {
	tb := t.open(memory(4 << 20))
	random := t.random(0)
	for i := range 50 {
		tb.mustPut(numbered(i, 16), pattern(uint64(i), 10+random.IntN(2000)))
	}
	for range t.times(750) {
		_, item := tb.viewOf(numbered(random.IntN(50), 16))
		value := item.Value
		if len(value) > 100 && random.IntN(3) == 0 {
			value = value[random.IntN(50):]
		}
		to := numbered(random.IntN(50), 16)
		k := store.Key{Hash: tb.hash(to), Bytes: to}
		if _, err := tb.putAsIs(k, store.Entry{Value: value}, store.Always()); err != nil {
			t.Fatalf("Put: %v", err)
		}
		tb.mustGet(to)
	}
}

// aliasAsKey uses views of values and of keys as keys of all calls.
func aliasAsKey(t *trial) {
	tb := t.open()
	for i := range 200 {
		// Each value is the next key.
		tb.mustPut(numbered(i, 16), numbered(i+1, 16))
	}
	for i := range 199 {
		_, item := tb.viewOf(numbered(i, 16))
		k := store.Key{Hash: tb.hash(item.Value), Bytes: item.Value}
		switch i % 4 {
		case 0:
			if _, err := tb.putAsIs(k, store.Entry{Value: item.Value}, store.IfPresent()); err != nil {
				t.Fatalf("Put under a view: %v", err)
			}
			tb.mustPut(numbered(i+1, 16), numbered(i+2, 16))
		case 1:
			if err := tb.p.Touch(k, 0, tb.now); err != nil {
				t.Fatalf("Touch of a view: %v", err)
			}
		case 2:
			// The key is a view of the item that the call replaces.
			own := tb.keyView(numbered(i, 16))
			if _, err := tb.putAsIs(own, store.Entry{Value: own.Bytes}, store.Always()); err != nil {
				t.Fatalf("Put under a view of its key: %v", err)
			}
		case 3:
			own := tb.keyView(numbered(i, 16))
			if err := tb.p.Delete(own, store.Always(), tb.now); err != nil {
				t.Fatalf("Delete of a view of its key: %v", err)
			}
			tb.model.forget(numbered(i, 16))
			tb.stats = tb.p.Stats()
		}
	}
}

// keyView returns a key as a view from Each.
func (tb *table) keyView(key []byte) store.Key {
	tb.Helper()
	var found store.Key
	tb.p.Each(tb.now, func(k store.Key, _ store.Item) bool {
		if bytes.Equal(k.Bytes, key) {
			found = k
		}
		return found.Bytes == nil
	})
	if found.Bytes == nil {
		tb.Fatalf("Each does not visit key %s", short(key))
	}
	return found
}

// aliasWhenFull puts views of items that the call itself may evict or overwrite
// to make room.
func aliasWhenFull(t *trial) {
	tb := t.open(memory(store.MinMemory))
	random := t.random(0)
	for i := range t.times(1000) {
		size := random.IntN(1 << (4 + random.IntN(8)))
		key := numbered(i, 16)
		tb.tryPut(key, store.Entry{Value: pattern(uint64(i), size)}, store.Always())
		from := numbered(max(0, i-random.IntN(60)), 16)
		if tb.get(from) == nil {
			continue
		}
		_, item := tb.viewOf(from)
		to := numbered(1_000_000+i, 24)
		if random.IntN(3) == 0 {
			to = from
		}
		k := store.Key{Hash: tb.hash(to), Bytes: to}
		if random.IntN(3) == 0 && len(item.Value) > 0 {
			k.Bytes = item.Value // key and value from the same item
			k.Hash = tb.hash(item.Value)
			to = bytes.Clone(item.Value)
		}
		if _, err := tb.putAsIs(k, store.Entry{Value: item.Value}, store.Always()); err == nil {
			tb.mustGet(to)
		} else if t.mode == store.Store {
			tb.tryDel(from, store.Always())
		}
	}
}

// aliasLarge puts a view of an item that takes so much of the memory that
// there is room for only one such item.
func aliasLarge(t *trial) {
	for _, share := range []int{3, 4, 5, 6, 8} {
		tb := t.open(memory(200_000))
		random := t.random(share)
		size := 200_000 / share
		for i := range t.times(40) {
			tb.tryPut(numbered(i, 16), store.Entry{Value: pattern(uint64(i), size-random.IntN(100))}, store.Always())
			tb.tryPut(numbered(i, 17), store.Entry{Value: pattern(uint64(i), random.IntN(1000))}, store.Always())
			if tb.get(numbered(i, 16)) == nil {
				continue
			}
			_, item := tb.viewOf(numbered(i, 16))
			skip := random.IntN(50)
			k := store.Key{Hash: tb.hash(item.Value[:skip]), Bytes: item.Value[:skip]}
			key := bytes.Clone(k.Bytes)
			if _, err := tb.putAsIs(k, store.Entry{Value: item.Value[skip:]}, store.Always()); err == nil {
				tb.mustGet(key)
			}
			if t.mode == store.Store {
				tb.tryDel(numbered(i, 16), store.Always())
				tb.tryDel(key, store.Always())
			}
		}
	}
}

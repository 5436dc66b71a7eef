package storetest

import (
	"errors"

	"github.com/remora-kv/remora/store"
)

const (
	ruleGet     = "Get returns the item as the last successful Put or Touch of its key left it, or ErrNotFound: after Delete, after its expiry, and in Cache mode whenever the item was evicted."
	ruleNever   = "It never returns another key's value, an older value of this key, or part of one."
	ruleAny     = "both may hold any bytes."
	ruleAbsent  = "If there is no item, the error is ErrNotFound, under Always too."
	ruleIfMet   = "Put stores e under the key if the condition is met, and returns the item's new version."
	ruleDelete  = "Delete removes the item if the condition is met."
	ruleVersion = "The error is ErrNotFound if there is no item, and ErrVersion if it has another version."
)

func callCases() []*testCase {
	return join(
		both("S1/put-get", ruleGet, putGet),
		both("S1/any-bytes", ruleAny, anyBytes),
		both("S1/overwrite", ruleNever, overwrite),
		both("S1/similar-keys", ruleNever, similarKeys),
		both("S1/delete", ruleAbsent, deleteAndAgain),
		both("S1/put-if", ruleIfMet, putIf),
		both("S1/delete-if", ruleDelete, deleteIf),
		both("S1/version-if", ruleVersion, versionIf),
		both("S1/incr", "flags and expiry stay.", incr),
	)
}

// sizes are lengths around those to which engines round.
var sizes = []int{0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1000, 4095, 4096, 4097, 8191}

// mustPut puts a key that must be accepted, without a condition. It cuts off what exceeds the
// engine's limits.
func (tb *table) mustPut(key, value []byte) uint64 {
	tb.Helper()
	return tb.mustPutEntry(key, store.Entry{Value: value})
}

func (tb *table) mustPutEntry(key []byte, e store.Entry) uint64 {
	tb.Helper()
	key, e.Value = tb.cutKey(key), tb.cutValue(e.Value)
	version, err := tb.put(key, e, store.Always())
	if err != nil {
		tb.Fatalf("Put of a key of %d and a value of %d bytes: %v", len(key), len(e.Value), err)
	}
	return version
}

// mustGet gets a key that must exist since mustPut.
func (tb *table) mustGet(key []byte) *record {
	tb.Helper()
	key = tb.cutKey(key)
	r := tb.get(key)
	if r == nil {
		tb.Fatalf("key %s does not exist", short(key))
	}
	return r
}

// putGet puts keys and values of many sizes, reads each at once and all at the
// end, and reads keys that were never put.
func putGet(t *trial) {
	tb := t.open(memory(16 << 20))
	for i, n := range sizes {
		for j, m := range sizes {
			key := pattern(uint64(i), n)
			if n < 8 && j > 0 {
				break // too few different keys
			}
			if n >= 8 {
				copy(key, numbered(i*100+j, 8))
			}
			tb.mustPutEntry(key, store.Entry{Value: pattern(uint64(i*100+j), m), Flags: uint32(i*j) * 0x01010101})
			tb.mustGet(key)
		}
	}
	for _, r := range tb.model.items {
		if tb.get(r.key) == nil && t.mode == store.Store {
			t.Fatalf("key %s does not exist", short(r.key))
		}
	}
	for i := range 1000 {
		if r := tb.get(numbered(1_000_000+i, 24)); r != nil {
			t.Fatalf("key %d exists but was never put", i)
		}
	}
}

// anyBytes puts keys and values that an engine might mistake for its own metadata.
func anyBytes(t *trial) {
	tb := t.open()
	var all [][]byte
	for _, n := range []int{0, 1, 8, 64, 300} {
		for _, b := range []byte{0, 1, ' ', '\n', 0x7f, 0x80, 0xDB, 0xff} {
			s := make([]byte, n)
			for i := range s {
				s[i] = b
			}
			if n > 0 || len(all) == 0 {
				all = append(all, s)
			}
		}
	}
	for i, key := range all {
		tb.mustPutEntry(key, store.Entry{Value: all[len(all)-1-i], Flags: ^uint32(i)})
	}
	for _, key := range all {
		tb.mustGet(key)
	}
}

// overwrite replaces values by longer and shorter ones, beside neighbours.
func overwrite(t *trial) {
	tb := t.open(memory(2 << 20))
	random := t.random(0)
	for i := range 20 {
		tb.mustPut(numbered(i, 16), pattern(uint64(i), 100))
	}
	for i := range t.times(1000) {
		key := numbered(random.IntN(20), 16)
		tb.mustPut(key, pattern(uint64(i), sizes[random.IntN(len(sizes))]))
		tb.mustGet(key)
		tb.get(numbered(random.IntN(20), 16))
	}
}

// similarKeys puts keys that are prefixes of each other or differ in one bit.
func similarKeys(t *trial) {
	for _, hash := range []func(tb *table) func([]byte) uint64{
		func(tb *table) func([]byte) uint64 { return tb.hash },
		func(*table) func([]byte) uint64 { return func([]byte) uint64 { return 0x123456789abcdef } },
	} {
		tb := t.open()
		tb.hash = hash(tb)
		tb.refusable = true
		base := pattern(7, 40)
		tb.tryPut(base, store.Entry{Value: base}, store.Always())
		for bit := range 320 {
			other := pattern(7, 40)
			other[bit/8] ^= 1 << (bit % 8)
			if tb.get(other) != nil {
				t.Fatalf("a key that differs in bit %d exists but was never put", bit)
			}
			tb.tryPut(other, store.Entry{Value: other[:bit/8]}, store.Always())
			tb.get(other)
		}
		for n := range 40 {
			tb.tryPut(base[:n], store.Entry{Value: base[n:]}, store.Always())
			tb.get(base[:n])
			tb.tryPut(append(base[:n:n], 0), store.Entry{}, store.Always())
			tb.get(base[:n])
		}
	}
}

func deleteAndAgain(t *trial) {
	tb := t.open()
	for _, c := range []store.Condition{store.Always(), store.IfPresent(), store.IfVersion(1)} {
		if err := tb.del(numbered(1, 8), c); !errors.Is(err, store.ErrNotFound) {
			t.Fatalf("Delete of a missing key: %v", err)
		}
	}
	for i := range t.times(250) {
		key := numbered(i%7, 8+i%20)
		tb.mustPut(key, pattern(uint64(i), i%300))
		if err := tb.del(key, store.Always()); err != nil {
			t.Fatalf("Delete: %v", err)
		}
		if err := tb.del(key, store.Always()); !errors.Is(err, store.ErrNotFound) {
			t.Fatalf("second Delete: %v", err)
		}
		if tb.get(key) != nil {
			t.Fatalf("the key exists after Delete")
		}
	}
}

// states calls try for a key that was never put, was deleted, has expired, and exists,
// with its version, 0 for none.
func states(t *trial, try func(tb *table, key []byte, version uint64)) {
	tb := t.open()
	tb.now = 1000
	for i, value := range [][]byte{nil, pattern(1, 1), pattern(2, 500)} {
		key := numbered(i, 16)
		try(tb, key, 0)
		tb.mustPut(key, value)
		tb.tryDel(key, store.Always())
		try(tb, key, 0)
		tb.mustPutEntry(key, store.Entry{Value: value, Expires: 1000})
		try(tb, key, 0)
		try(tb, key, tb.mustPut(key, value))
		try(tb, key, tb.mustPutEntry(key, store.Entry{Value: value, Expires: 1001}))
	}
}

// putIf tries all conditions; the table compares the results with the model.
func putIf(t *trial) {
	states(t, func(tb *table, key []byte, version uint64) {
		wants := []struct {
			c    store.Condition
			want error
		}{
			{store.IfVersion(version + 1), ifThere(version, store.ErrVersion, store.ErrNotFound)},
			{store.IfVersion(1 << 47), ifThere(version, store.ErrVersion, store.ErrNotFound)},
			{store.IfPresent(), ifThere(version, nil, store.ErrNotFound)},
			{store.IfAbsent(), ifThere(version, store.ErrExists, nil)},
			{store.Always(), nil},
		}
		for _, w := range wants {
			value := pattern(tb.model.last, 30)
			if _, err := tb.put(key, store.Entry{Value: value}, w.c); !same(err, w.want) {
				t.Fatalf("Put under %+v at version %d: got %v, want %v", w.c, version, err, w.want)
			}
			tb.get(key)
		}
	})
}

func ifThere(version uint64, there, not error) error {
	if version != 0 {
		return there
	}
	return not
}

func deleteIf(t *trial) {
	states(t, func(tb *table, key []byte, version uint64) {
		for _, c := range []store.Condition{
			store.IfVersion(version + 1), store.IfAbsent(), store.IfPresent(), store.Always(),
		} {
			tb.tryDel(key, c)
			tb.get(key)
		}
		v := tb.mustPut(key, pattern(version, 10))
		if err := tb.del(key, store.IfVersion(v-1)); !errors.Is(err, store.ErrVersion) {
			t.Fatalf("Delete of another version: %v", err)
		}
		if err := tb.del(key, store.IfVersion(v)); err != nil {
			t.Fatalf("Delete of this version: %v", err)
		}
	})
}

// versionIf lets two clients change a counter by compare and swap.
func versionIf(t *trial) {
	tb := t.open()
	key := []byte("counter")
	first := tb.mustPut(key, []byte("0"))
	second, err := tb.put(key, store.Entry{Value: []byte("1")}, store.IfVersion(first))
	if err != nil {
		t.Fatalf("Put under the current version: %v", err)
	}
	if _, err := tb.put(key, store.Entry{Value: []byte("lost")}, store.IfVersion(first)); !errors.Is(err, store.ErrVersion) {
		t.Fatalf("Put under the previous version: %v", err)
	}
	tb.tryDel(key, store.Always())
	tb.mustPut(key, []byte("0"))
	if _, err := tb.put(key, store.Entry{Value: []byte("2")}, store.IfVersion(second)); !errors.Is(err, store.ErrVersion) {
		t.Fatalf("Put under the version of an item that was deleted and put again: %v", err)
	}
}

func incr(t *trial) {
	tb := t.open()
	key, scratch := []byte("n"), make([]byte, store.CounterSize)
	tb.now = 50
	tb.mustPutEntry(key, store.Entry{Value: []byte("9"), Flags: 7, Expires: 100})
	sum, version, err := store.Incr(tb.p, tb.key(key), 1, tb.now, scratch)
	if err != nil || sum != 10 || version <= tb.model.last {
		t.Fatalf("Incr of 9: %d, version %d after %d, %v", sum, version, tb.model.last, err)
	}
	item, err := tb.p.Get(tb.key(key), tb.now)
	if err != nil || string(item.Value) != "10" || item.Flags != 7 || item.Expires != 100 || item.Version != version {
		t.Fatalf("after Incr: %+v, %v", item, err)
	}
	if err := tb.p.Delete(tb.key(key), store.Always(), tb.now); err != nil {
		t.Fatalf("Delete: %v", err)
	}
	if _, _, err := store.Incr(tb.p, tb.key(key), 1, tb.now, scratch); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("Incr of a missing key: %v", err)
	}
	tb.model.forget(key)
	tb.stats = tb.p.Stats()
}

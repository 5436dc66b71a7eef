package lru8

import (
	"testing"

	"github.com/remora-kv/remora/store"
)

func TestItem(t *testing.T) {
	r := open(t, store.Store, 1<<20)
	for _, c := range []struct {
		key   string
		value int
		e     store.Entry
	}{
		{"", 0, store.Entry{}},
		{"k", 1, store.Entry{Flags: 1<<32 - 1, Expires: -1}},
		{"a longer key of some bytes", 100_000, store.Entry{Flags: 0x01020304, Expires: 1<<63 - 1}},
	} {
		k := seed.Key([]byte(c.key))
		c.e.Value = make([]byte, c.value)
		version, err := r.Put(k, c.e, store.Always(), -10)
		if err != nil {
			t.Fatal(err)
		}
		off := r.find(k.Hash, k.Bytes).off
		got := r.record(off)
		if string(got.Key()) != c.key || len(got.Value()) != c.value || got.Hash() != k.Hash || got.Version() != version {
			t.Errorf("key %q: %q, %d bytes, hash %#x, version %d", c.key, got.Key(), len(got.Value()), got.Hash(), got.Version())
		}
		var item store.Item
		if got.Show(&item); item.Flags != c.e.Flags || item.Expires != c.e.Expires || cap(item.Value) != c.value {
			t.Errorf("key %q: %+v", c.key, item)
		}
		if err := r.Touch(k, 5, -10); err != nil {
			t.Error(err)
		}
		if got.Expired(4) || !got.Expired(5) {
			t.Errorf("key %q does not expire at 5", c.key)
		}
	}
}

func TestBlockSize(t *testing.T) {
	for _, c := range []struct {
		key, value int
		want       uint64
	}{{0, 0, 48}, {0, 1, 64}, {16, 32, 96}, {16, 33, 112}, {store.MaxKey, store.MaxValueLimit, 64<<20 + 65536 + 48}} {
		if got := blockSize(c.key, c.value); got != c.want {
			t.Errorf("blockSize(%d, %d) = %d, want %d", c.key, c.value, got, c.want)
		}
	}
}

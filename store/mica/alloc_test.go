//go:build !race

package mica

import (
	"encoding/binary"
	"testing"

	"github.com/remora-kv/remora/store"
)

// No call allocates, whatever it has to do (S6).
func TestNoAllocations(t *testing.T) {
	eachMode(t, func(t *testing.T, with func(*store.Config)) {
		r := newRig(t, with, memory(256<<10))
		n := uint64(0)
		key, value, hashes := make([]byte, 16), make([]byte, 4000), make([]uint64, 2)
		put := func(i uint64, size int, e store.Entry) {
			binary.BigEndian.PutUint64(key, i)
			e.Value = value[:size]
			_, _ = r.Put(r.key(key), e, store.Always(), int64(n))
		}
		for ; n < 5000; n++ {
			put(n, int(n%300), store.Entry{})
		}
		calls := map[string]func(){
			"Get":             func() { binary.BigEndian.PutUint64(key, n-1); _, _ = r.Get(r.key(key), 1) },
			"Get, miss":       func() { binary.BigEndian.PutUint64(key, 1<<60); _, _ = r.Get(r.key(key), 1) },
			"Put, new":        func() { n++; put(n, int(n%300), store.Entry{}) },
			"Put, in place":   func() { put(n, 100, store.Entry{}) },
			"Put, other size": func() { put(n, int(n*37%4000), store.Entry{}); n += n % 2 },
			"Put, expiring":   func() { n++; put(n, 30, store.Entry{Expires: int64(n) + 20, Flags: 7}) },
			"Put, large":      func() { n++; put(n, 4000, store.Entry{}) },
			"Put, from the log": func() {
				binary.BigEndian.PutUint64(key, n)
				if item, err := r.Get(r.key(key), int64(n)); err == nil {
					binary.BigEndian.PutUint64(key, n+1)
					_, _ = r.Put(r.key(key), store.Entry{Value: item.Value}, store.Always(), int64(n))
				}
				n++
			},
			"Delete": func() {
				put(n, 10, store.Entry{})
				_ = r.Delete(r.key(key), store.Always(), int64(n))
			},
			"Touch": func() { put(n, 10, store.Entry{}); _ = r.Touch(r.key(key), int64(n)+9, int64(n)); n++ },
			"Prefetch": func() {
				r.PrefetchIndex(n)
				hashes[0], hashes[1] = n, r.hash(key)
				r.PrefetchItems(hashes)
			},
			"Stats": func() { _ = r.Stats() },
			"Each":  func() { r.Each(1, func(store.Key, store.Item) bool { return true }) },
		}
		for name, call := range calls {
			if got := testing.AllocsPerRun(300, call); got != 0 {
				t.Errorf("%s: %v allocations", name, got)
			}
		}
	})
}

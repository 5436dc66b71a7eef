//go:build !race

package cuckoo

import (
	"testing"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/test/pages"
)

// An entry that moves is whole in its new bucket before anything is written to its old one,
// so clients that read meanwhile find the key in one of them (C9).
func TestMovedEntryIsNeverMissing(t *testing.T) {
	r := open(t, store.Store, 1<<20)
	index := r.index
	r.index = pages.New(t, len(index)/pages.Size+1)
	defer func() { r.index = index[:copy(index, r.index)] }()
	moves := 0
	for n := range 100 {
		k := key(n)
		c := r.choicesOf(r.tagOf(k.Hash))
		r.MustPut(k, 10)
		for _, to := range c[1:] {
			from := r.find(k.Hash, k.Bytes).bucket
			old, now := int(from)*bucketSize, int(to)*bucketSize
			if old/pages.Size == now/pages.Size || !r.isEmpty(to) {
				continue
			}
			want := r.entryAt(from)
			pages.StopsAtWrite(t, r.index, old, func() { r.moveEntry(from, to) })
			e, ok := parseBucket(r.index[now:][:bucketSize])
			if e.item() != want.item() || !ok {
				t.Fatalf("key %d: the old bucket is changed while the new one has %+v, want %+v", n, e, want)
			}
			r.write(from, entry{}, one(from == c[0])) // what it was stopped at
			moves++
		}
	}
	if moves == 0 {
		t.Error("no two choices are in different pages")
	}
}

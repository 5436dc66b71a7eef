package cuckoo

import (
	"testing"

	"github.com/remora-kv/remora/store"
)

// keysOf returns n keys, numbered from first on, whose choice number which is the bucket.
func (r *rig) keysOf(which int, bucket uint64, n, first int) (keys []store.Key) {
	for i := first; len(keys) < n; i++ {
		if k := key(i); r.choicesOf(r.tagOf(k.Hash))[which] == bucket {
			keys = append(keys, k)
		}
	}
	return keys
}

// TestSpill checks the count of keys that had to leave home, up and down.
func TestSpill(t *testing.T) {
	r := open(t, store.Store, store.MinMemory)
	rd := r.reader()
	keys := r.keysOf(0, 7, 4, 0)
	for i, k := range keys {
		if got := rd.Search(k, nil); got != store.Missing {
			t.Errorf("key %d: outcome %d before it was put", i, got)
		}
		r.MustPut(k, 10)
		if e := r.entryAt(7); e.spill() != uint64(i) {
			t.Errorf("%d keys of one home, %d spilled", i+1, e.spill())
		}
	}
	for i, k := range keys {
		if got := rd.Search(k, nil); got != store.Found {
			t.Errorf("key %d: outcome %d", i, got)
		}
	}
	r.MustCheck()
	for _, k := range keys {
		if err := r.Delete(k, store.Always(), 0); err != nil {
			t.Fatal(err)
		}
		r.MustCheck()
	}
	if e := r.entryAt(7); e.spill() != 0 || !e.empty() {
		t.Errorf("left: %+v", e)
	}
	if rd.Search(keys[0], nil) != store.Missing || rd.Spans != 1 {
		t.Errorf("%d READs to find home empty", rd.Spans)
	}
}

// TestShortestWay puts a key whose choices are taken, one of them by a key that can move
// elsewhere: only that entry moves.
func TestShortestWay(t *testing.T) {
	r := open(t, store.Store, 1<<20)
	k := key(0)
	c := r.choicesOf(r.tagOf(k.Hash))
	for i, bucket := range c {
		r.MustPut(r.keysOf(0, bucket, 1, 1+i*1_000_000)[0], 10)
	}
	before := make([]entry, r.buckets)
	for b := range r.buckets {
		before[b] = r.entryAt(b)
	}
	r.MustPut(k, 10)
	if e := r.entryAt(c[0]); e.tag() != r.tagOf(k.Hash) {
		t.Errorf("the key is not at home")
	}
	changed := 0
	for b := range r.buckets {
		was, is := before[b], r.entryAt(b)
		changed += one(was.item() != is.item())
	}
	if changed != 2 {
		t.Errorf("%d buckets have changed", changed)
	}
}

// TestEvictOnWay puts far more items into a cache than its index can hold: every Put is accepted, and
// used items outlive unused ones.
func TestEvictOnWay(t *testing.T) {
	r := open(t, store.Cache, 1<<20)
	n := int(r.buckets)
	for i := range n / 10 {
		r.MustPut(key(1_000_000+i), 0)
	}
	for i := range 4 * n {
		r.MustPut(key(i), 0)
		r.Has(key(1_000_000 + i%(n/10)))
	}
	st := r.Stats()
	fill := float64(st.Items) / float64(n)
	if fill < 0.85 || st.Evicted == 0 {
		t.Errorf("fill %.2f, %d evicted", fill, st.Evicted)
	}
	left := 0
	for i := range n / 10 {
		left += one(r.Has(key(1_000_000 + i)))
	}
	t.Logf("fill %.2f, %d of %d used keys are left", fill, left, n/10)
	if left < n/10*8/10 {
		t.Errorf("%d of %d used keys are left", left, n/10)
	}
}

// TestExpiredOnWay fills a store with items that expire: new ones take their
// places in the index, until few are left on the paths that are searched.
func TestExpiredOnWay(t *testing.T) {
	r := open(t, store.Store, store.MinMemory)
	n := 0
	for ; ; n++ {
		if _, err := r.Put(key(n), store.Entry{Expires: 10}, store.Always(), 0); err != nil {
			break
		}
	}
	again := 0
	for i := range n {
		_, err := r.Put(key(1_000_000+i), store.Entry{}, store.Always(), 10)
		again += one(err == nil)
	}
	if again < n*8/10 {
		t.Errorf("only %d of %d items were accepted in place of expired ones", again, n)
	}
}

// TestNoWay checks that a refused Put changes only the count of refusals.
func TestNoWay(t *testing.T) {
	r := open(t, store.Store, store.MinMemory)
	n := r.FillUp(0, 0)
	index, items := string(r.index), r.Stats()
	if _, err := r.Put(key(n), store.Entry{}, store.Always(), 0); err == nil {
		t.Fatal("taken")
	}
	items.Refused++
	if string(r.index) != index || r.Stats() != items {
		t.Error("a refused Put has changed something")
	}
}

package lru8

import (
	"testing"

	"github.com/remora-kv/remora/store"
)

// TestSweepCost checks that a long item evicts about as many bytes as it needs.
func TestSweepCost(t *testing.T) {
	r := open(t, store.Cache, 4<<20)
	for i := range 100_000 {
		r.MustPut(key(i), 32)
	}
	before := r.Stats()
	r.MustPut(key(1_000_000), 1<<20)
	lost := int(before.Items+1-r.Stats().Items) * 96
	if lost < 1<<20 || lost > 1<<20+victims*96+4096 {
		t.Errorf("an item of 1 MiB cost %d bytes of items of 96", lost)
	}
	if !r.Has(key(1_000_000)) {
		t.Error("the item does not exist")
	}
	r.MustCheck()
}

// TestSweepWraps puts long items repeatedly, past the end of the memory.
func TestSweepWraps(t *testing.T) {
	r := open(t, store.Cache, 256<<10)
	for i := range 300 {
		size := 10_000 + i*337%60_000
		r.MustPut(key(i), size)
		if !r.Has(key(i)) {
			t.Fatalf("item %d does not exist", i)
		}
		for j := range 20 {
			r.MustPut(key(1000+i*20+j), j*20)
		}
		r.MustCheck()
	}
}

// TestSweepMovesUsed has used short items in the way of long ones, and holes for
// them elsewhere.
func TestSweepMovesUsed(t *testing.T) {
	r := open(t, store.Cache, 1<<20)
	n := 0
	for ; r.Stats().Evicted == 0; n++ {
		r.MustPut(key(n), 100)
	}
	for i := range n { // holes for a half
		if i%2 == 0 {
			_ = r.Delete(key(i), store.Always(), 0)
		} else {
			r.Has(key(i))
		}
	}
	before := r.Stats()
	for i := range 20 {
		r.MustPut(key(1_000_000+i), 10_000)
		r.MustCheck()
	}
	after := r.Stats()
	if lost := before.Items + 20 - after.Items; lost > before.Items/10 {
		t.Errorf("%d of %d used items were lost though there were holes for them", lost, before.Items)
	}
}

// TestStoreMoves joins the memory of a store after every other item was
// deleted: all of it can hold longer items.
func TestStoreMoves(t *testing.T) {
	r := open(t, store.Store, 1<<20)
	n := r.FillUp(0, 60)
	for i := 0; i < n; i += 2 {
		if err := r.Delete(key(i), store.Always(), 0); err != nil {
			t.Fatal(err)
		}
	}
	free := r.heap.Free()
	long := r.FillUp(1_000_000, 900)
	r.MustCheck()
	if used := uint64(long) * blockSize(16, 900); used < free*8/10 {
		t.Errorf("%d bytes were free in holes, and %d could be used", free, used)
	}
	for i := 1; i < n; i += 2 {
		if !r.Has(key(i)) {
			t.Fatalf("key %d was lost", i)
		}
	}
	for i := range long {
		if !r.Has(key(1_000_000 + i)) {
			t.Fatalf("long item %d was lost", i)
		}
	}
}

// TestStoreMovesChains moves overflow buckets out of the way.
func TestStoreMovesChains(t *testing.T) {
	r := open(t, store.Store, 256<<10)
	for h := range 40 { // 40 buckets with chains, between other items
		for i := range 20 {
			k := key(h*100 + i)
			k.Hash = uint64(h) << 24
			r.MustPut(k, 50)
			r.MustPut(key(100_000+h*100+i), 50)
		}
	}
	for h := range 40 {
		for i := range 20 {
			if err := r.Delete(key(100_000+h*100+i), store.Always(), 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.FillUp(1_000_000, 5000)
	r.MustCheck()
	for h := range 40 {
		for i := range 20 {
			k := key(h*100 + i)
			k.Hash = uint64(h) << 24
			if !r.Has(k) {
				t.Fatalf("key %d of hash %d was lost", i, h)
			}
		}
	}
}

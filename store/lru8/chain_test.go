package lru8

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/remora-kv/remora/store"
)

// chainLimit is how many items a bucket and its overflow buckets hold: the last
// slot of all but the last is a link.
const chainLimit = (slots-1)*maxChain + slots

// TestChain fills one bucket until a Put is refused, and empties it in random order.
func TestChain(t *testing.T) {
	r := open(t, store.Store, 1<<20)
	random := rand.New(rand.NewPCG(1, 2))
	empty := r.Stats()
	for round := range 5 {
		for i := range chainLimit {
			r.MustPut(colliding(i), i)
			r.MustCheck()
		}
		k := colliding(chainLimit)
		if _, err := r.Put(k, store.Entry{}, store.Always(), 0); !errors.Is(err, store.ErrFull) {
			t.Fatalf("Put of item %d of one hash: %v", chainLimit, err)
		}
		r.MustPut(colliding(5), 1000) // an existing key can still be replaced
		for _, i := range random.Perm(chainLimit) {
			if !r.Has(colliding(i)) {
				t.Fatalf("round %d: key %d does not exist", round, i)
			}
			if err := r.Delete(colliding(i), store.Always(), 0); err != nil {
				t.Fatalf("round %d: Delete of key %d: %v", round, i, err)
			}
			r.MustCheck()
		}
		if st := r.Stats(); st.IndexBytes != empty.IndexBytes || st.ItemBytes != 0 {
			t.Fatalf("round %d: everything was deleted: %+v", round, st)
		}
	}
}

// TestChainWithoutMemory puts into a full bucket when there is no block for an overflow bucket:
// the Put is refused and changes nothing.
func TestChainWithoutMemory(t *testing.T) {
	r := open(t, store.Store, store.MinMemory)
	for i := range slots {
		r.MustPut(colliding(i), 0)
	}
	r.FillUp(1000, 3000)
	r.FillUp(2000, 0)
	before := r.Stats()
	k := colliding(slots)
	if _, err := r.Put(k, store.Entry{}, store.Always(), 0); !errors.Is(err, store.ErrFull) {
		t.Fatalf("Put: %v", err)
	}
	before.Refused++
	if st := r.Stats(); st != before {
		t.Errorf("from %+v to %+v", before, st)
	}
	r.MustCheck()
}

// TestStoreFill measures how full a store gets before the first item is refused.
func TestStoreFill(t *testing.T) {
	for _, c := range []struct {
		size int
		fill float64 // blocks and overflow buckets, as a share of item memory
	}{
		{0, 0.99}, {32, 0.99}, {100, 0.99}, {1000, 0.99}, {10_000, 0.97},
	} {
		r := open(t, store.Store, 1<<20)
		n := r.FillUp(0, c.size)
		fill := 1 - float64(r.heap.Free())/float64(r.heap.End()-r.heap.First())
		t.Logf("values of %d bytes: %d items until the first refusal, item memory %.1f %% full, %d bytes in overflow buckets",
			c.size, n, 100*fill, r.chainBytes)
		if fill < c.fill {
			t.Errorf("values of %d bytes: refused at %.1f %%, want %.1f %%", c.size, 100*fill, 100*c.fill)
		}
	}
}

// TestExpireChain puts into a full chain with expired items: the new item replaces
// one of them, without another overflow bucket.
func TestExpireChain(t *testing.T) {
	for _, every := range []int{1, 2, 3, 7, 30} {
		r := open(t, store.Store, 1<<20)
		for i := range chainLimit {
			k := colliding(i)
			e := store.Entry{Value: value(k, 20)}
			if i%every == 0 {
				e.Expires = 10
			}
			if _, err := r.Put(k, e, store.Always(), 0); err != nil {
				t.Fatal(err)
			}
		}
		k := colliding(1000)
		if _, err := r.Put(k, store.Entry{Value: value(k, 20)}, store.Always(), 10); err != nil {
			t.Fatal(err)
		}
		r.MustCheck()
		expired := (chainLimit + every - 1) / every
		if st := r.Stats(); int(st.Items) != chainLimit+1-expired || int(st.Expired) != expired || r.heap.Mortal != 0 {
			t.Errorf("every %d: %d expired of %d: %+v", every, expired, chainLimit, st)
		}
		for i := range chainLimit {
			if r.Has(colliding(i)) != (i%every != 0) {
				t.Errorf("every %d: key %d", every, i)
			}
		}
	}
}

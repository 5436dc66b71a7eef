package lru8

import (
	"bytes"
	"errors"
	"testing"

	"github.com/remora-kv/remora/store"
)

// blockOf returns the block of the item of a key.
func (r *rig) blockOf(k store.Key) uint64 { return r.find(k.Hash, k.Bytes).off }

// TestRewrite checks that a value that fits stays in its block, and that the rest of the
// block is freed.
func TestRewrite(t *testing.T) {
	for _, mode := range []store.Mode{store.Cache, store.Store} {
		r := open(t, mode, 1<<20)
		r.MustPut(key(1), 1000)
		r.MustPut(key(2), 1000)
		off, free := r.blockOf(key(1)), r.heap.Free()
		for _, n := range []int{999, 1000, 992, 500, 40, 0} {
			r.MustPut(key(1), n)
			if r.blockOf(key(1)) != off {
				t.Fatalf("a value of %d bytes was put elsewhere", n)
			}
			r.MustCheck()
		}
		if gained := r.heap.Free() - free; gained != blockSize(16, 1000)-blockSize(16, 0) {
			t.Errorf("%d bytes are free after the value became empty", gained)
		}
	}
}

// TestReplaceInPlace grows an item into its free neighbours, in a store without other
// room.
func TestReplaceInPlace(t *testing.T) {
	r := open(t, store.Store, store.MinMemory)
	n := r.FillUp(0, 400)
	for _, i := range []int{20, 22} {
		if err := r.Delete(key(i), store.Always(), 0); err != nil {
			t.Fatal(err)
		}
	}
	r.MustPut(key(21), 1200) // about three blocks
	if !r.Has(key(21)) {
		t.Fatal("the item does not exist")
	}
	r.MustCheck()
	k := key(23)
	if _, err := r.Put(k, store.Entry{Value: value(k, 9000)}, store.Always(), 0); !errors.Is(err, store.ErrFull) {
		t.Fatalf("Put of an item that does not fit: %v", err)
	}
	for i := range n {
		if i != 20 && i != 22 && !r.Has(key(i)) {
			t.Errorf("key %d does not exist", i)
		}
	}
}

// TestFullOverwrite checks that a full store accepts values of the same length and
// shorter ones.
func TestFullOverwrite(t *testing.T) {
	r := open(t, store.Store, 256<<10)
	n := r.FillUp(0, 300)
	for i := range n {
		r.MustPut(key(i), 300-i%300)
	}
}

// TestRefused checks that a refused Put changes only the count of refusals.
func TestRefused(t *testing.T) {
	for _, mode := range []store.Mode{store.Cache, store.Store} {
		r := open(t, mode, 1<<20)
		r.MustPut(key(1), 100)
		before := r.Stats()
		k := key(1)
		if _, err := r.Put(k, store.Entry{Value: make([]byte, 1<<20)}, store.Always(), 0); !errors.Is(err, store.ErrFull) {
			t.Fatalf("Put of 1 MiB: %v", err)
		}
		before.Refused++
		if st := r.Stats(); st != before {
			t.Errorf("from %+v to %+v", before, st)
		}
		r.heap.Last = store.MaxVersion
		if _, err := r.Put(k, store.Entry{}, store.Always(), 0); !errors.Is(err, store.ErrFull) {
			t.Errorf("Put after the last version: %v", err)
		}
	}
}

// TestViewsOfVictims puts a key and value that are views of items which the call
// evicts, and that overlap their new place in all ways.
func TestViewsOfVictims(t *testing.T) {
	for _, keySize := range []int{10, 128, 129, 2000} {
		for shift := 0; shift < 9000; shift += 1500 {
			r := open(t, store.Cache, store.MinMemory)
			r.MustPut(key(1), shift)
			long := key(2)
			r.MustPut(long, 25_000) // leaves no room for another of its length
			item, err := r.Get(long, 0)
			if err != nil {
				t.Fatal(err)
			}
			from := item.Value[len(item.Value)-keySize:]
			k := store.Key{Hash: seed.Hash(from), Bytes: from}
			e := store.Entry{Value: item.Value[:len(item.Value)-keySize-shift/2]}
			wantKey, wantValue := bytes.Clone(k.Bytes), bytes.Clone(e.Value)
			if _, err := r.Put(k, e, store.Always(), 0); err != nil {
				t.Fatal(err)
			}
			item, err = r.Get(seed.Key(wantKey), 0)
			if err != nil || !bytes.Equal(item.Value, wantValue) {
				t.Fatalf("key of %d bytes, shift %d: %v, the value is right: %v", keySize, shift, err, bytes.Equal(item.Value, wantValue))
			}
			r.MustCheck()
		}
	}
}

// TestViewOfExpired puts a value that is a view of an expired item,
// whose memory the call itself reclaims.
func TestViewOfExpired(t *testing.T) {
	for _, mode := range []store.Mode{store.Cache, store.Store} {
		r := open(t, mode, store.MinMemory)
		k := key(1)
		want := value(k, 40_000)
		if _, err := r.Put(k, store.Entry{Value: want, Expires: 10}, store.Always(), 0); err != nil {
			t.Fatal(err)
		}
		item, err := r.Get(k, 9)
		if err != nil {
			t.Fatal(err)
		}
		for _, to := range []store.Key{key(2), k} {
			if _, err := r.Put(to, store.Entry{Value: item.Value}, store.Always(), 10); err != nil {
				t.Fatal(err)
			}
			if item, err = r.Get(to, 10); err != nil || !bytes.Equal(item.Value, want) {
				t.Fatalf("Get: %v, the value is right: %v", err, bytes.Equal(item.Value, want))
			}
			if err := r.Touch(to, 10, 9); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestViewIsNotMovedOver puts a view of an item that the call evicts, while
// used items are moved out of the way: they must not be moved over the
// view.
func TestViewIsNotMovedOver(t *testing.T) {
	r := open(t, store.Cache, 256<<10)
	n := 0
	for ; r.heap.Free() >= 176; n++ {
		r.MustPut(key(n), 100)
	}
	for i := range n { // all are used
		r.Has(key(i))
	}
	var victim uint64
	for i, found := r.turn, 0; found < victims; i = (i + 1) % r.buckets {
		if b := r.bucketAt(i); b.count() > 0 { // but those whose turn it is
			last := b.count() - 1
			b.setSlot(last, b.slot(last).unused())
			victim = b.slot(last).offset()
			found++
		}
	}
	want := bytes.Clone(r.record(victim).Value())
	k := seed.Key(bytes.Repeat([]byte("longer"), 20))
	if _, err := r.Put(k, store.Entry{Value: r.record(victim).Value()}, store.Always(), 0); err != nil {
		t.Fatal(err)
	}
	if item, err := r.Get(k, 0); err != nil || !bytes.Equal(item.Value, want) {
		t.Fatalf("Get: %v, the value is right: %v", err, bytes.Equal(item.Value, want))
	}
}

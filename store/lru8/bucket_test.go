package lru8

import (
	"slices"
	"testing"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/internal/extent"
)

func TestSlot(t *testing.T) {
	for _, off := range []uint64{extent.Unit, 1 << 20, maxMemory - extent.Unit, extent.Unit<<offsetBits - extent.Unit} {
		for _, hash := range []uint64{0, ^uint64(0), 0x0123456789abcdef} {
			w := slotFor(off, hash)
			if w.offset() != off || w.tag() != tagOf(hash) || w.isLink() || w.isUsed() {
				t.Errorf("slot %#x of offset %#x and hash %#x", uint64(w), off, hash)
			}
			if used := w | usedBit; !used.isUsed() || used.unused() != w || used.offset() != off || used.tag() != w.tag() {
				t.Errorf("used slot %#x", uint64(used))
			}
		}
		if w := linkTo(off); !w.isLink() || w.offset() != off || w.tag() != 0 {
			t.Errorf("link %#x", uint64(w))
		}
	}
}

func TestTagLeavesBits(t *testing.T) {
	if tagOf(0x00000000ffffffff) != 0 {
		t.Error("the tag has bits that choose the bucket")
	}
	if tagOf(0xff00000000000000) != 0 {
		t.Error("the tag has bits that choose the partition")
	}
}

// order returns the slots of a bucket.
func order(b bucket) (all []slot) {
	for i := range slots {
		all = append(all, b.slot(i))
	}
	return all
}

func TestBucketOrder(t *testing.T) {
	b := bucket(make([]byte, bucketSize))
	for i := range slots {
		if b.count() != i {
			t.Fatalf("%d slots in use, want %d", b.count(), i)
		}
		b.pushFront(slot(i + 1))
	}
	steps := []struct {
		do   func()
		want []slot
	}{
		{func() {}, []slot{8, 7, 6, 5, 4, 3, 2, 1}},
		{func() { b.promote(0, 80) }, []slot{80, 7, 6, 5, 4, 3, 2, 1}},
		{func() { b.promote(3, 50) }, []slot{50, 80, 7, 6, 4, 3, 2, 1}},
		{func() { b.promote(7, 10) }, []slot{10, 50, 80, 7, 6, 4, 3, 2}},
		{func() { b.remove(7) }, []slot{10, 50, 80, 7, 6, 4, 3, 0}},
		{func() { b.remove(0) }, []slot{50, 80, 7, 6, 4, 3, 0, 0}},
		{func() { b.remove(2) }, []slot{50, 80, 6, 4, 3, 0, 0, 0}},
		{func() { b.pushFront(9) }, []slot{9, 50, 80, 6, 4, 3, 0, 0}},
	}
	for i, s := range steps {
		if s.do(); !slices.Equal(order(b), s.want) {
			t.Fatalf("step %d: %v, want %v", i, order(b), s.want)
		}
	}
}

// TestBucketOf checks that all buckets are used, evenly.
func TestBucketOf(t *testing.T) {
	table := &Table{buckets: 1000}
	counts := make([]int, 1000)
	for i := range 100_000 {
		counts[table.bucketOf(key(i).Hash)]++
	}
	if lowest, highest := slices.Min(counts), slices.Max(counts); lowest < 50 || highest > 160 {
		t.Errorf("between %d and %d of 100 keys in a bucket", lowest, highest)
	}
	if table.bucketOf(0xffffffff) != 999 || table.bucketOf(0xffffffff00000000) != 0 {
		t.Error("the bucket is not chosen by the low 32 bits")
	}
}

// TestStrictLRU checks the paper's policy: of nine keys in a bucket, the least recently
// used one is evicted, by any of the three calls.
func TestStrictLRU(t *testing.T) {
	r := open(t, store.Cache, 1<<20)
	for i := range slots {
		r.MustPut(colliding(i), 10)
	}
	var recent []int // the least recent first
	for i := range slots {
		recent = append(recent, i)
	}
	use := func(i int) {
		recent = append(slices.DeleteFunc(recent, func(j int) bool { return j == i }), i)
	}
	for step := range 2000 {
		i := recent[step*step%slots]
		switch step % 4 {
		case 0:
			if !r.Has(colliding(i)) {
				t.Fatalf("step %d: key %d does not exist", step, i)
			}
		case 1:
			if err := r.Touch(colliding(i), 0, 0); err != nil {
				t.Fatalf("step %d: key %d: %v", step, i, err)
			}
		case 2:
			r.MustPut(colliding(i), step%100)
		case 3:
			i = slots + step
			r.MustPut(colliding(i), 10)
			victim := recent[0]
			recent = recent[1:]
			if p := r.find(colliding(victim).Hash, colliding(victim).Bytes); p.off != 0 {
				t.Fatalf("step %d: the least recent key %d still exists", step, victim)
			}
		}
		use(i)
		b := r.bucketAt(r.bucketOf(colliding(0).Hash))
		for j := range slots { // slot order is the order of use
			if !r.record(b.slot(j).offset()).IsKey(colliding(recent[slots-1-j]).Bytes) {
				t.Fatalf("step %d: slot %d does not hold key %d", step, j, recent[slots-1-j])
			}
		}
	}
	if st := r.Stats(); st.Items != slots || st.Evicted != 500 {
		t.Errorf("%+v", st)
	}
}

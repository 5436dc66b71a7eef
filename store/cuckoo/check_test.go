package cuckoo

import (
	"errors"
	"strings"
	"testing"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/storetest"
)

// TestCheckReasons breaks a store in one place at a time, and expects Check to name it. The
// suite has a case for flipped bits.
func TestCheckReasons(t *testing.T) {
	newStore := func() *rig {
		table, err := New(store.Config{Memory: store.MinMemory, Mode: store.Store, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		r := &rig{table, storetest.Rig{TB: t, Partition: table}}
		for i := range 300 {
			r.MustPut(key(i), i%60)
		}
		for i := range 100 {
			_ = r.Delete(key(2*i), store.Always(), 0)
		}
		return r
	}
	at := func(r *rig) place { return r.find(key(3).Hash, key(3).Bytes) }
	for _, c := range []struct {
		what  string
		spoil func(r *rig)
	}{
		{"checksum mismatch", func(r *rig) { r.record(at(r).off).Value()[1] ^= 1 }},
		{"has version", func(r *rig) { r.heap.Last = 3 }},
		{"of kind", func(r *rig) { r.heap.SetKind(at(r).off, 9) }},
		{"invalid kind", func(r *rig) { r.heap.SetKind(at(r).off, 0) }},
		{"found 0 times", func(r *rig) { r.write(at(r).bucket, entry{}, 0) }},
		{"found 3 times", func(r *rig) {
			p := at(r)
			e := r.entryAt(p.bucket)
			for _, b := range r.choicesOf(e.tag()) {
				if b != p.bucket {
					r.write(b, e.item(), 0)
				}
			}
		}},
		{"checksum mismatch", func(r *rig) { r.index[5*bucketSize+9] ^= 1 }},
		{"is marked as empty", func(r *rig) { r.write(r.emptyBucket(), entry{w1: 5}, 0) }},
		{"counts no spilled keys", func(r *rig) {
			for b := range r.buckets {
				for e := r.entryAt(b); e.spill() > 0; e = r.entryAt(b) {
					r.countSpill(b, -1)
				}
			}
		}},
		{"have spilled", func(r *rig) { r.countSpill(5, 1) }},
		{"the counters say", func(r *rig) { r.heap.Items++ }},
		{"the counters say", func(r *rig) { r.heap.KeyBytes++ }},
		{"entries", func(r *rig) { r.write(r.emptyBucket(), entryOf(1, 16, 64, r.tagAt(r.emptyBucket())), 0) }},
		{"the counters say", func(r *rig) { r.heap.Mortal++ }},
	} {
		r := newStore()
		r.MustCheck()
		c.spoil(r)
		err := r.Check()
		if !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), c.what) {
			t.Errorf("%s: Check says %v", c.what, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// emptyBucket returns the first empty bucket.
func (r *rig) emptyBucket() uint64 {
	for b := range r.buckets {
		if r.isEmpty(b) {
			return b
		}
	}
	r.Fatal("no bucket is empty")
	return 0
}

// tagAt returns a tag whose home is the bucket.
func (r *rig) tagAt(bucket uint64) uint64 {
	return r.tagOf(r.keysOf(0, bucket, 1, 1_000_000)[0].Hash)
}

package kvl

import (
	"context"
	"fmt"
	"testing"

	"github.com/remora-kv/remora/internal/arena"
)

// The other bucket of the other bucket is the first one, for any number of buckets.
func TestOtherBucketIsMutual(t *testing.T) {
	for _, buckets := range []uint64{1, 2, 3, 7, 1000, 1<<20 + 7} {
		x := index{buckets: buckets}
		for i := range uint64(2000) {
			bucket, tag := x.home(i * 0x9e3779b97f4a7c15)
			other := x.other(bucket, tag)
			if bucket >= buckets || other >= buckets || tag == 0 || x.other(other, tag) != bucket {
				t.Fatalf("of %d buckets, tag %d has %d, %d, %d", buckets, tag, bucket, other, x.other(other, tag))
			}
		}
	}
}

// Keys whose hashes collide, in part or entirely, are found, and no others.
func TestHashCollisions(t *testing.T) {
	for name, keep := range map[string]uint64{
		"no bit": 0, "no tag": ^uint64(0xffff), "no home": 0xffff, "few bits": 7<<61 | 3, "all": ^uint64(0),
	} {
		t.Run(name, func(t *testing.T) { testCollisions(t, keep) })
	}
}

func testCollisions(t *testing.T, keep uint64) {
	const items = 500
	b, err := NewBuilder(Config{Generation: 1})
	if err != nil {
		t.Fatal(err)
	}
	b.keys.hasher.keep = keep
	typ, _ := b.Name("t")
	for i := range items {
		b.Begin(typ, fmt.Append(nil, "k", i))
		b.Link(typ, fmt.Append(nil, "k", (i+1)%items))
		if err := b.End(); err != nil {
			t.Fatal(err)
		}
	}
	m, err := b.Seal(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}()
	for i := range items {
		key := fmt.Sprint("k", i)
		l, ok := m.Lookup([]byte(key))
		if !ok {
			t.Fatalf("%s does not exist", key)
		}
		it, err := m.Item(l)
		if err != nil || string(it.Key()) != key {
			t.Fatalf("%s: %v", key, err)
		}
		to, _ := it.Link(typ)
		if it, err = m.Item(to); err != nil || string(it.Key()) != fmt.Sprint("k", (i+1)%items) {
			t.Fatalf("%s leads to %s, %v", key, it.Key(), err)
		}
		if l, ok := m.Lookup([]byte(key + "x")); ok {
			t.Fatalf("%sx is at %v", key, l)
		}
	}
}

// With good hashes no entry is in overflow.
func TestIndexHasRoom(t *testing.T) {
	for _, items := range []int64{1, 7, 100, 50000, 300000} {
		x, err := newIndex(arena.New(), hasher{seed: 1, keep: ^uint64(0)}, items, DefaultAreaSize)
		if err != nil {
			t.Fatal(err)
		}
		for i := range items {
			x.insert(x.hasher.hash(fmt.Append(nil, i)), NewLink(0, i*8, 8, 1))
		}
		if len(x.overflow) != 0 {
			t.Errorf("%d of %d items are in overflow", len(x.overflow), items)
		}
		if err := x.free(); err != nil {
			t.Error(err)
		}
	}
}

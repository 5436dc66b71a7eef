package keli_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/remora-kv/remora/fabric/fabrictest"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/kvl"
	"github.com/remora-kv/remora/kvl/keli"
)

// outlive replaces the generation of a rig, until its memory is given back, and checks that an
// item of it is still what it was: it may lie in that very memory.
func outlive(t *testing.T, r *rig, item kvl.Item) {
	t.Helper()
	was := bytes.Clone(item.Record())
	for range 3 {
		r.publish(ring(100).build)
		r.clock.Advance(2 * lease)
	}
	r.eventually("its memory is given back", func() bool { return r.server.Reclaim() == 0 })
	if !bytes.Equal(item.Record(), was) {
		t.Fatal("an item has changed with the end of its generation")
	}
}

// Items stay what they are until the session is used again, though their generation ends.
func TestItemsOutliveTheirGeneration(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.clock = fabrictest.NewHandClock()
		r.serve(keli.Config{Lease: lease}, ring(100).build)
		s, ctx := r.session(), r.ctx()
		_, link, err := s.Find(ctx, key(3))
		if err != nil {
			t.Fatal(err)
		}
		var item kvl.Item
		for range 3 { // the first READ of an area copies: it is not known yet
			if item, err = s.Follow(ctx, link); err != nil {
				t.Fatal(err)
			}
		}
		if mapped := r.fabric == provider.Loop || r.fabric == provider.Shm; s.InPlace() != mapped {
			t.Fatalf("an item is shown in place: %t", !mapped)
		}
		outlive(t, r, item)
		if _, err := s.Follow(ctx, link); !errors.Is(err, keli.ErrGenerationOver) {
			t.Fatalf("after the lease: %v", err)
		}
	})
}

// The same in the middle of a walk, which is told.
func TestVisitsOutliveTheirGeneration(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.clock = fabrictest.NewHandClock()
		r.serve(keli.Config{Lease: lease}, ring(100).build)
		s, ctx := r.session(), r.ctx()
		seen := 0
		_, err := s.Walk(ctx, keli.WalkConfig{Keys: [][]byte{key(0)}}, func(item kvl.Item, _ int) (bool, error) {
			if seen++; seen == 50 {
				outlive(t, r, item)
			}
			return true, nil
		})
		// What was in flight when the generation ended may still be shown.
		if !errors.Is(err, keli.ErrGenerationOver) || seen < 50 || seen == 100 {
			t.Fatalf("after %d items: %v", seen, err)
		}
	})
}

// E9: a session has memory for a long record while it has the record, and no longer.
func TestLongRecordsAreGivenBack(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		g := ring(10)
		g.fill = func(i int) int { return 1 << 20 * (i % 2) }
		r.serve(keli.Config{}, g.build)
		s, ctx := r.session(), r.ctx()
		for _, i := range []int{1, 2, 3, 4} {
			_, link, err := s.Find(ctx, key(i))
			if err != nil {
				t.Fatal(err)
			}
			item, err := s.Follow(ctx, link)
			if err != nil || number(t, item) != i {
				t.Fatalf("item %d: %v", i, err)
			}
			if cap(item.Record()) != len(item.Record()) {
				t.Errorf("behind the %d bytes of an item are others", len(item.Record()))
			}
			if n := s.OwnBytes(); i%2 == 0 && n != 0 {
				t.Errorf("%d bytes for long records, after a short one", n)
			}
		}
	})
}

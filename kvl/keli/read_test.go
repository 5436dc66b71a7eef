package keli_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/remora-kv/remora/kvl"
	"github.com/remora-kv/remora/kvl/keli"
)

// web is a graph with everything in it: self-links, cycles, links that lead nowhere, empty
// lists, lists with and without chunks, items longer than a slot and longer than an area.
func web() *graph {
	return &graph{
		items: 700, area: 128 << 10, inline: 4,
		links: func(i int) []int {
			var all []int
			for j := range []int{0, 1, 4, 5, 104, 650}[i%6] {
				all = append(all, (i+j*j)%700)
			}
			return all
		},
		single: func(i int) int { return []int{i, (i + 1) % 700, -1}[i%3] },
		fill: func(i int) int {
			switch i {
			case 5:
				return 100 << 10 // longer than a slot
			case 6:
				return 3 << 20 // longer than an area, and than one READ
			}
			return i % 50
		},
	}
}

// Everything that was built is found by its key and behind every link, bit by bit.
func TestLookupAndFollowEverything(t *testing.T) {
	andDisorder(t, func(t *testing.T, r *rig) {
		g := web()
		r.serve(keli.Config{Cores: 2, FirstGeneration: 7}, g.build)
		s := r.session()
		ctx := r.ctx()
		followed := 0
		for i := range g.items {
			item, link, err := s.Find(ctx, key(i))
			if err != nil {
				t.Fatal(err)
			}
			checkItem(t, s, g, item, i)
			one, ok := item.Link(nameOf(t, s.Schema(), "one"))
			if !ok {
				t.Fatalf("item %d has no link", i)
			}
			same, err := s.Follow(ctx, link)
			if err != nil {
				t.Fatal(err)
			}
			checkItem(t, s, g, same, i)
			want := g.single(i)
			if want < 0 {
				if !one.IsZero() {
					t.Fatalf("item %d has a link to %v", i, one)
				}
				if _, err := s.Follow(ctx, one); !errors.Is(err, keli.ErrNotFound) {
					t.Fatalf("a link that leads nowhere: %v", err)
				}
				continue
			}
			other, err := s.Follow(ctx, one)
			if err != nil {
				t.Fatal(err)
			}
			checkItem(t, s, g, other, want)
			followed++
		}
		if n := s.Counters(); n.Late+n.Corrupt != 0 || n.Reads < uint64(g.items+followed) || n.Lookups != uint64(g.items) {
			t.Errorf("%+v", n)
		}
		if _, err := s.Lookup(ctx, []byte("nobody")); !errors.Is(err, keli.ErrNotFound) {
			t.Errorf("no such key: %v", err)
		}
		if st := r.server.Stats(); st.Lookups != uint64(g.items)+1 || st.Missing != 1 || st.Generation != 7 || st.Image.Items != int64(g.items) {
			t.Errorf("%+v", st)
		}
	})
}

func checkItem(t *testing.T, s *keli.Session, g *graph, item kvl.Item, i int) {
	t.Helper()
	if number(t, item) != i {
		t.Fatalf("item %q in place of %d", item.Key(), i)
	}
	if got, want := stampOf(t, s.Schema(), item), s.Generation(); got != want {
		t.Fatalf("item %d has stamp %d in generation %d", i, got, want)
	}
	fill, _ := item.Bytes(nameOf(t, s.Schema(), "fill"))
	if !bytes.Equal(fill, filling(i, g.fill(i))) {
		t.Fatalf("item %d has other bytes", i)
	}
	list, ok := item.List(nameOf(t, s.Schema(), "to"))
	if !ok || list.Len() != len(g.links(i)) {
		t.Fatalf("item %d has %d links, want %d", i, list.Len(), len(g.links(i)))
	}
}

// Lists are read in their order, whatever the window, and from a client as from a session.
func TestFollowListInOrder(t *testing.T) {
	andDisorder(t, func(t *testing.T, r *rig) {
		g := web()
		r.serve(keli.Config{}, g.build)
		ctx := r.ctx()
		for _, window := range []int{1, 2, 16, 200} {
			s := r.session(keli.WithWindow(window), keli.WithSlot(4096))
			for _, i := range []int{0, 1, 2, 3, 4, 5, 6, 11} {
				item, err := s.Lookup(ctx, key(i))
				if err != nil {
					t.Fatal(err)
				}
				list, _ := item.List(nameOf(t, s.Schema(), "to"))
				var got []int
				err = s.FollowList(ctx, list, func(it kvl.Item) error {
					n := number(t, it)
					checkItem(t, s, g, it, n)
					got = append(got, n)
					return nil
				})
				if err != nil || !slices.Equal(got, g.links(i)) {
					t.Fatalf("window %d, item %d: %d of %d, %v", window, i, len(got), len(g.links(i)), err)
				}
			}
		}
		c := r.dial(keli.WithSessions(3))
		item, err := c.Lookup(ctx, key(5))
		if err != nil {
			t.Fatal(err)
		}
		schema, err := c.Schema(ctx)
		if err != nil {
			t.Fatal(err)
		}
		list, _ := item.List(nameOf(t, schema, "to"))
		n := 0
		err = c.FollowList(ctx, list, func(it kvl.Item) error {
			if n++; n%10 != 0 {
				return nil
			}
			again, err := c.Lookup(ctx, it.Key()) // on another session
			if err == nil && number(t, again) != number(t, it) {
				t.Errorf("%q in place of %q", again.Key(), it.Key())
			}
			return err
		})
		if err != nil || n != 650 {
			t.Errorf("%d items, %v", n, err)
		}
	})
}

// What a caller's function does ends a list, and it cannot call the session that calls it.
func TestFollowListEnds(t *testing.T) {
	r := newRig(t, fabrics[0])
	r.serve(keli.Config{}, web().build)
	s, ctx := r.session(), r.ctx()
	item, err := s.Lookup(ctx, key(5))
	if err != nil {
		t.Fatal(err)
	}
	list, _ := item.List(nameOf(t, s.Schema(), "to"))
	enough, n := errors.New("enough"), 0
	err = s.FollowList(ctx, list, func(kvl.Item) error {
		if _, err := s.Lookup(ctx, key(1)); !errors.Is(err, keli.ErrBusy) {
			t.Errorf("a call of a session that is in use: %v", err)
		}
		if n++; n == 7 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || n != 7 {
		t.Errorf("%d items, %v", n, err)
	}
	ended, cancel := context.WithCancel(ctx)
	item, err = s.Lookup(ctx, key(5))
	if err != nil {
		t.Fatal(err)
	}
	list, _ = item.List(nameOf(t, s.Schema(), "to"))
	cancel()
	if err := s.FollowList(ended, list, func(kvl.Item) error { return nil }); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("a context that is over: %v", err)
	}
	if _, err := s.Lookup(ctx, key(5)); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// A list without links is no READ.
func TestFollowListEmpty(t *testing.T) {
	r := newRig(t, fabrics[0])
	r.serve(keli.Config{}, web().build)
	s, ctx := r.session(), r.ctx()
	item, err := s.Lookup(ctx, key(0))
	if err != nil {
		t.Fatal(err)
	}
	list, ok := item.List(nameOf(t, s.Schema(), "to"))
	if !ok {
		t.Fatal("no list")
	}
	before := s.Counters().Reads
	err = s.FollowList(ctx, list, func(kvl.Item) error { return errors.New("an item") })
	if err != nil || s.Counters().Reads != before {
		t.Errorf("%v, %d READs", err, s.Counters().Reads-before)
	}
}

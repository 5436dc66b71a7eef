package keli_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/fabrictest"
	"github.com/remora-kv/remora/kvl"
	"github.com/remora-kv/remora/kvl/keli"
)

const lease = 8 * time.Second

// still is a rig whose server and clients go by one clock, which stands still.
func still(t *testing.T, name string) *rig {
	r := newRig(t, name)
	r.clock = fabrictest.NewHandClock()
	return r
}

// memory is how many bytes the images of a server have.
func mixedState(s *keli.Server) (n int64) {
	for _, u := range s.Stats().Memory {
		n += u.Bytes
	}
	return n
}

// ring is a small graph: each item has a link to the next one.
func ring(n int) *graph {
	return &graph{items: n, single: func(i int) int { return (i + 1) % n }, links: func(i int) []int { return []int{i} }}
}

// Memory of an old generation is given back when its lease and a quarter are over, and not
// before.
func TestMemoryIsGivenBack(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.clock = fabrictest.NewHandClock()
		s := r.serve(keli.Config{Lease: lease}, ring(100).build)
		one := mixedState(s)
		if one == 0 {
			t.Fatal("an image without memory")
		}
		r.publish(ring(100).build)
		r.clock.Advance(lease)
		r.publish(ring(100).build)
		if n := mixedState(s); n != 3*one {
			t.Fatalf("three images have %d bytes, one has %d", n, one)
		}
		r.clock.Advance(lease/4 - 1)
		if left := s.Reclaim(); left != 2 || mixedState(s) != 3*one {
			t.Fatalf("before the lease is over %d are left, with %d bytes", left, mixedState(s))
		}
		r.clock.Advance(1)
		r.eventually("the first is given back", func() bool { return s.Reclaim() == 1 && mixedState(s) == 2*one })
		r.clock.Advance(lease - 1)
		if left := s.Reclaim(); left != 1 {
			t.Fatalf("%d left, want the second", left)
		}
		r.clock.Advance(1)
		r.eventually("the second is given back", func() bool { return s.Reclaim() == 0 && mixedState(s) == one })
		r.clock.Advance(100 * lease)
		if s.Reclaim() != 0 || mixedState(s) != one {
			t.Fatal("the current one is not there any more")
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// A session stays in its generation as long as the lease lasts. Then what it reads is an
// error that says so, and it goes on after Refresh.
func TestLeaseOfOldGeneration(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.clock = fabrictest.NewHandClock()
		r.serve(keli.Config{Lease: lease, FirstGeneration: 1}, ring(10).build)
		s, ctx := r.session(), r.ctx()
		_, link, err := s.Find(ctx, key(3))
		if err != nil {
			t.Fatal(err)
		}
		r.publish(ring(10).build)
		for range 4 {
			item, err := s.Follow(ctx, link)
			if err != nil || stampOf(t, s.Schema(), item) != 1 {
				t.Fatalf("within the lease: %v", err)
			}
			r.clock.Advance(lease/4 - 1)
		}
		r.clock.Advance(4)
		for range 2 {
			if _, err := s.Follow(ctx, link); !errors.Is(err, keli.ErrGenerationOver) {
				t.Fatalf("after the lease: %v", err)
			}
		}
		r.clock.Advance(lease)
		r.eventually("its memory is given back", func() bool { return r.server.Reclaim() == 0 })
		if _, err := s.Follow(ctx, link); !errors.Is(err, keli.ErrGenerationOver) || s.Counters().Connects != 1 {
			t.Fatalf("after its memory is gone: %v, %+v", err, s.Counters())
		}
		if err := s.Refresh(ctx); err != nil || s.Generation() != 2 {
			t.Fatalf("in generation %d, %v", s.Generation(), err)
		}
		var wrong *keli.GenerationError
		if _, err := s.Follow(ctx, link); !errors.Is(err, keli.ErrGeneration) || !errors.As(err, &wrong) || wrong.Link != 1 || wrong.Session != 2 {
			t.Fatalf("a link of generation 1 in 2: %v", err)
		}
		if item, err := s.Lookup(ctx, key(3)); err != nil || stampOf(t, s.Schema(), item) != 2 {
			t.Fatal(err)
		}
	})
}

// A session renews its lease beside its READs, so it does not end while it reads.
func TestLeaseIsRenewed(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.clock = fabrictest.NewHandClock()
		r.serve(keli.Config{Lease: lease}, ring(10).build)
		s, ctx := r.session(), r.ctx()
		_, link, err := s.Find(ctx, key(3))
		if err != nil {
			t.Fatal(err)
		}
		for range 100 {
			r.clock.Advance(lease / 8)
			for range 2 {
				if _, err := s.Follow(ctx, link); err != nil {
					t.Fatal(err)
				}
			}
		}
		if n := s.Counters(); n.Late != 0 || n.Renewals < 15 || n.Snapshots != 1 {
			t.Errorf("%+v", n)
		}
	})
}

// A lease lasts from when the READ of the superblock was posted, not from when it arrived: the
// server may have replaced the generation in between (E2).
func TestLeaseBeginsWithThePost(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.clock = fabrictest.NewHandClock()
		r.serve(keli.Config{Lease: lease}, ring(10).build)
		r.clock = fabrictest.NewHandClock() // of the client alone
		s, ctx := r.session(), r.ctx()
		_, link, err := s.Find(ctx, key(3))
		if err != nil {
			t.Fatal(err)
		}
		r.clock.JumpAt(2, lease) // after the post, and before the arrival
		if err := s.Refresh(ctx); err != nil {
			t.Fatal(err)
		}
		r.publish(ring(10).build)
		if _, err := s.Follow(ctx, link); !errors.Is(err, keli.ErrGenerationOver) {
			t.Errorf("a lease after the post: %v", err)
		}
	})
}

// A renewal that finds another generation does not extend the lease (E3).
func TestLeaseOfReplacedGenerationIsNotRenewed(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.clock = fabrictest.NewHandClock()
		r.serve(keli.Config{Lease: lease}, ring(10).build)
		s, ctx := r.session(), r.ctx()
		_, link, err := s.Find(ctx, key(3))
		if err != nil {
			t.Fatal(err)
		}
		r.publish(ring(10).build)
		r.clock.Advance(lease / 2)
		for range 2 { // the first posts the renewal, the second uses it
			if _, err := s.Follow(ctx, link); err != nil {
				t.Fatal(err)
			}
		}
		r.clock.Advance(lease / 2)
		if _, err := s.Follow(ctx, link); s.Counters().Renewals != 1 || !errors.Is(err, keli.ErrGenerationOver) {
			t.Errorf("after the lease: %v, %+v", err, s.Counters())
		}
	})
}

// Bytes that arrive after the lease are thrown away, and read again under a new one.
func TestPausedReaderThrowsAway(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.clock = fabrictest.NewHandClock()
		g := web()
		r.serve(keli.Config{Lease: lease}, g.build)
		s, ctx := r.session(), r.ctx()
		item, link, err := s.Find(ctx, key(5))
		if err != nil {
			t.Fatal(err)
		}
		list, _ := item.Clone().List(nameOf(t, s.Schema(), "to"))
		r.clock.JumpAt(2, 2*lease) // before the READ is posted it is early, and then late
		item, err = s.Follow(ctx, link)
		if err != nil || s.Counters().Late != 1 {
			t.Fatalf("%v, %+v", err, s.Counters())
		}
		checkItem(t, s, g, item, 5)
		n := 0
		r.clock.JumpAt(20, 2*lease)
		err = s.FollowList(ctx, list, func(kvl.Item) error { n++; return nil })
		if err != nil || n != 650 || s.Counters().Late != 2 {
			t.Fatalf("%d items, %v, %+v", n, err, s.Counters())
		}
		// The same, but there is another generation meanwhile.
		item, err = s.Lookup(ctx, key(5))
		if err != nil {
			t.Fatal(err)
		}
		list, _ = item.Clone().List(nameOf(t, s.Schema(), "to"))
		r.publish(g.build)
		n = 0
		r.clock.JumpAt(20, 2*lease)
		err = s.FollowList(ctx, list, func(kvl.Item) error { n++; return nil })
		if !errors.Is(err, keli.ErrGenerationOver) || n == 0 || n >= 650 {
			t.Fatalf("%d items, %v", n, err)
		}
		if _, err := s.Lookup(ctx, key(5)); err != nil {
			t.Fatal(err)
		}
	})
}

// A client whose clock is much too slow reads memory that is not there any more. It loses its
// connection, and goes on with another.
func TestSlowClock(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.clock = fabrictest.NewHandClock()
		r.serve(keli.Config{Lease: lease}, ring(10).build)
		servers := r.clock
		r.clock = fabrictest.NewHandClock()
		s, ctx := r.session(), r.ctx()
		_, link, err := s.Find(ctx, key(3))
		if err != nil {
			t.Fatal(err)
		}
		r.publish(ring(10).build)
		servers.Advance(2 * lease)
		r.eventually("memory is given back", func() bool { return r.server.Reclaim() == 0 })
		if _, err := s.Follow(ctx, link); !errors.Is(err, keli.ErrGenerationOver) || s.Counters().Connects != 2 {
			t.Fatalf("%v, %+v", err, s.Counters())
		}
		item, err := s.Lookup(ctx, key(3))
		if err != nil || stampOf(t, s.Schema(), item) != r.server.Generation() {
			t.Fatal(err)
		}
	})
}

// A client follows links that another client found.
func TestLinkOfSomebodyElse(t *testing.T) {
	r := newRig(t, fabrics[0])
	r.serve(keli.Config{}, ring(10).build)
	_, link, err := r.dial().Find(r.ctx(), key(3))
	if err != nil {
		t.Fatal(err)
	}
	c := r.dial()
	if item, err := c.Follow(r.ctx(), link); err != nil || number(t, item) != 3 {
		t.Errorf("%v", err)
	}
	r.publish(ring(10).build)
	if _, link, err = r.dial().Find(r.ctx(), key(4)); err != nil {
		t.Fatal(err)
	}
	if item, err := c.Follow(r.ctx(), link); err != nil || number(t, item) != 4 {
		t.Errorf("of a newer generation: %v", err)
	}
}

// A mixed walk goes on in the new generation, and visits every key once.
func TestMixedWalk(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.clock = fabrictest.NewHandClock()
		g := web()
		r.serve(keli.Config{Lease: lease, FirstGeneration: 1, Generations: 100}, g.build)
		s := r.session()
		seen, stamps := map[int]int{}, map[uint64]int{}
		want := reference(g, 5, 0, false)
		visit := func(it kvl.Item, depth int) (bool, error) {
			seen[number(t, it)]++
			stamps[it.Generation()]++
			if want[number(t, it)] != depth {
				t.Errorf("item %d at %d, want %d", number(t, it), depth, want[number(t, it)])
			}
			if len(seen)%150 == 20 {
				r.publish(g.build)
				r.clock.Advance(2 * lease)
			}
			return true, nil
		}
		cfg := keli.WalkConfig{Keys: [][]byte{key(5)}, Attrs: []string{"to"}}
		if _, err := s.Walk(r.ctx(), cfg, visit); !errors.Is(err, keli.ErrGenerationOver) || len(stamps) != 1 {
			t.Fatalf("a walk that is not mixed: %v, %v", err, stamps)
		}
		clear(seen)
		clear(stamps)
		cfg.Mixed = true
		did, err := s.Walk(r.ctx(), cfg, visit)
		if err != nil || did.Items != len(want) || len(seen) != len(want) || did.Moves != len(stamps)-1 || did.Moves < 3 {
			t.Fatalf("%+v, %v: %d of %d items, generations %v", did, err, len(seen), len(want), stamps)
		}
		for i, n := range seen {
			if n != 1 {
				t.Errorf("item %d was visited %d times", i, n)
			}
		}
	})
}

// A generation that cannot be made changes nothing, and the error says why.
func TestFailedBuildKeepsTheOld(t *testing.T) {
	r := still(t, fabrics[0])
	s := r.serve(keli.Config{Lease: lease, FirstGeneration: 5, Generations: 3}, ring(10).build)
	session, ctx := r.session(), r.ctx()
	one := mixedState(s)
	broken := errors.New("the database is gone")
	err := s.Publish(func(kvl.Config) (*kvl.Image, error) { return nil, broken })
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "generation 6") {
		t.Errorf("%v", err)
	}
	err = s.Publish(func(cfg kvl.Config) (*kvl.Image, error) {
		cfg.Generation = 3
		return ring(5).build(cfg)
	})
	if !errors.Is(err, keli.ErrInvalid) {
		t.Errorf("an image of another generation: %v", err)
	}
	if s.Generation() != 5 || mixedState(s) != one {
		t.Errorf("generation %d, with %d bytes instead of %d", s.Generation(), mixedState(s), one)
	}
	if item, err := session.Lookup(ctx, key(3)); err != nil || stampOf(t, session.Schema(), item) != 5 {
		t.Errorf("afterwards: %v", err)
	}
	r.publish(ring(10).build)
	r.publish(ring(10).build)
	if err := s.Publish(ring(10).build); !errors.Is(err, keli.ErrFull) {
		t.Errorf("a fourth of three: %v", err)
	}
	if st := s.Stats(); st.Published != 3 || st.Failed != 3 || !strings.Contains(st.LastFailure, "too many") || st.Old != 2 || st.Generation != 9 {
		t.Errorf("%+v", st)
	}
	r.clock.Advance(2 * lease)
	r.publish(ring(10).build)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Publish(ring(10).build); !errors.Is(err, keli.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if err := s.Close(); !errors.Is(err, keli.ErrClosed) {
		t.Errorf("closed twice: %v", err)
	}
}

// Before the first generation there is nothing, and this is told.
func TestNothingPublished(t *testing.T) {
	r := newRig(t, fabrics[0])
	r.serve(keli.Config{}, nil)
	s, ctx := r.session(), r.ctx()
	if _, err := s.Lookup(ctx, key(1)); !errors.Is(err, keli.ErrEmpty) {
		t.Errorf("a lookup: %v", err)
	}
	if err := s.Refresh(ctx); !errors.Is(err, keli.ErrEmpty) {
		t.Errorf("a refresh: %v", err)
	}
	r.publish(ring(3).build)
	if _, err := s.Lookup(ctx, key(1)); err != nil {
		t.Error(err)
	}
}

// Faults of a configuration are all told at once.
func TestRefusals(t *testing.T) {
	if _, err := keli.NewServer(keli.Config{Lease: 1, Generations: 1, MaxClients: -1}); !errors.Is(err, keli.ErrInvalid) || strings.Count(err.Error(), "\n") != 3 {
		t.Errorf("four faults: %v", err)
	}
	_, err := keli.Dial(t.Context(), "nonsense", keli.WithWindow(0), keli.WithSlot(1), keli.WithSessions(-1), keli.WithBackoff(2, 1), keli.WithLog(nil), keli.WithReconnectWait(-1))
	if !errors.Is(err, keli.ErrInvalid) || strings.Count(err.Error(), "\n") != 6 {
		t.Errorf("seven faults: %v", err)
	}
	if _, err := keli.Dial(t.Context(), "loop:x"); !errors.Is(err, keli.ErrInvalid) {
		t.Errorf("a network of nobody: %v", err)
	}
	r := newRig(t, fabrics[0])
	r.addr = r.listen
	if _, err := keli.Dial(t.Context(), r.addr.String(), keli.WithDevice(r.device())); !errors.Is(err, keli.ErrUnavailable) || !errors.Is(err, fabric.ErrRefused) {
		t.Errorf("nobody there: %v", err)
	}
}

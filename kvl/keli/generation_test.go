package keli_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/kvl"
	"github.com/remora-kv/remora/kvl/keli"
	"github.com/remora-kv/remora/test/scale"
)

// expected reports whether a reader may get an error while generations come and go.
//
// A machine that stops for longer than a lease, again and again, makes connections break:
// memory was given back that READs in flight are for.
func expected(err error) bool {
	return errors.Is(err, keli.ErrGenerationOver) || errors.Is(err, keli.ErrGeneration) || errors.Is(err, keli.ErrUnavailable)
}

// While hundreds of generations are published, every walk, list and link is in one of them,
// or fails with an error that says why not. Each item has the stamp of its generation.
func TestEveryWalkIsInOneGeneration(t *testing.T) {
	andDisorder(t, func(t *testing.T, r *rig) {
		g := web()
		g.items, g.fill = 120, nil
		g.links = func(i int) []int {
			var all []int
			for j := range []int{0, 3, 30, 110}[i%4] {
				all = append(all, (i+j*j+1)%120)
			}
			return all
		}
		g.single = nil
		short, publishes := 150*time.Millisecond, 300
		if scale.Race { // everything is slow, and a walk should have a chance to end in its lease
			short, publishes = time.Second, 60
		}
		if emulated {
			short, publishes = 4*time.Second, 10
		}
		r.serve(keli.Config{Cores: 2, Lease: short, Generations: 1 << 10}, g.build)
		var stop atomic.Bool
		var good, over atomic.Uint64
		var wg sync.WaitGroup
		c := r.dial(keli.WithSessions(2))
		check := func(err error) {
			switch {
			case err == nil:
				good.Add(1)
			case expected(err):
				over.Add(1)
			default:
				t.Error(err)
				stop.Store(true)
			}
		}
		for n := range 2 {
			s := r.session(keli.WithWindow(4), keli.WithBusyPoll(true))
			wg.Go(func() {
				for i := n; !stop.Load(); i++ {
					check(walkOnce(t, r, s.Walk, i%g.items))
				}
			})
			wg.Go(func() {
				for i := n; !stop.Load(); i++ {
					check(walkOnce(t, r, c.Walk, i%g.items))
				}
			})
		}
		s := r.session()
		wg.Go(func() {
			for i := 0; !stop.Load(); i++ {
				check(followOnce(t, r, s, i%g.items))
			}
		})
		defer wg.Wait()
		defer stop.Store(true)
		for range publishes {
			if err := r.server.Publish(g.build); err != nil {
				t.Error(err)
				break
			}
		}
		r.eventually("walks that end well", func() bool { return good.Load() > 100 || stop.Load() })
		stop.Store(true)
		wg.Wait()
		t.Logf("%d in one generation, %d over", good.Load(), over.Load())
		r.eventually("old memory is given back", func() bool { return r.server.Stats().Old == 0 })
	})
}

// walkOnce walks and compares the stamps of all items.
func walkOnce(
	t *testing.T, r *rig,
	walk func(ctx context.Context, cfg keli.WalkConfig, visit keli.Visit) (keli.WalkResult, error), root int,
) error {
	generation := uint64(0)
	var schema *kvl.Schema
	cfg := keli.WalkConfig{Keys: [][]byte{key(root)}, Schema: func(s *kvl.Schema) { schema = s }}
	did, err := walk(r.ctx(), cfg, func(it kvl.Item, _ int) (bool, error) {
		stamp := stampOf(t, schema, it)
		if generation == 0 {
			generation = stamp
		}
		if stamp != generation || it.Generation() != stamp {
			t.Errorf("item %q is of generation %d in a walk of %d", it.Key(), stamp, generation)
		}
		return true, nil
	})
	if err == nil && did.Generation != generation {
		t.Errorf("a walk of generation %d says that it is of %d", generation, did.Generation)
	}
	return err
}

// followOnce looks up an item and reads its list.
func followOnce(t *testing.T, r *rig, s *keli.Session, i int) error {
	item, err := s.Lookup(r.ctx(), key(i))
	if err != nil {
		return err
	}
	generation := stampOf(t, s.Schema(), item)
	if generation != s.Generation() {
		t.Errorf("an item of %d in a session that is in %d", generation, s.Generation())
	}
	list, _ := item.List(nameOf(t, s.Schema(), "to"))
	return s.FollowList(r.ctx(), list, func(it kvl.Item) error {
		if stamp := stampOf(t, s.Schema(), it); stamp != generation {
			t.Errorf("item %q is of generation %d in a list of %d", it.Key(), stamp, generation)
		}
		return nil
	})
}

// The methods of a client find the generation of a link, whichever session they use.
func TestClientKnowsGenerations(t *testing.T) {
	r := still(t, fabrics[0])
	g := ring(10)
	r.serve(keli.Config{Lease: lease, FirstGeneration: 1}, g.build)
	c, ctx := r.dial(), r.ctx()
	var links []kvl.Link
	for range 3 {
		_, l, err := c.Find(ctx, key(4))
		if err != nil {
			t.Fatal(err)
		}
		links = append(links, l)
		r.publish(g.build)
	}
	for range 2 {
		for i, l := range links {
			item, err := c.Follow(ctx, l)
			if err != nil || item.Generation() != uint64(i+1) {
				t.Fatalf("a link of generation %d: %v", i+1, err)
			}
		}
	}
	item, err := c.Lookup(ctx, key(4))
	if err != nil {
		t.Fatal(err)
	}
	if got := stampOf(t, c.SchemaOf(item), item); got != 4 {
		t.Errorf("an item of generation %d", got)
	}
	r.clock.Advance(lease)
	if _, err := c.Follow(ctx, links[0]); !errors.Is(err, keli.ErrGenerationOver) {
		t.Errorf("after the lease: %v", err)
	}
	if _, err := c.Follow(ctx, kvl.NewLink(0, 0, 64, 99)); !errors.Is(err, keli.ErrGeneration) && !errors.Is(err, keli.ErrGenerationOver) {
		t.Errorf("a generation that never was: %v", err)
	}
}

// Images are served on several devices, by copies whose links are the same.
func TestSeveralDevices(t *testing.T) {
	r := newRig(t, fabrics[0])
	g := web()
	other := newRig(t, fabrics[1%len(fabrics)])
	dev := other.device()
	r.serve(keli.Config{Others: []fabric.Device{dev}}, g.build)
	var err error
	if other.addr, err = r.server.ListenOn(dev, other.listen, fabric.ListenConfig{}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, at := range []*rig{r, other} {
			s := at.session()
			did, err := s.Walk(at.ctx(), keli.WalkConfig{Keys: [][]byte{key(5)}}, func(it kvl.Item, _ int) (bool, error) {
				checkItem(t, s, g, it, number(t, it))
				return true, nil
			})
			if err != nil || did.Items != g.items || did.Generation != r.server.Generation() {
				t.Fatalf("%s: %+v, %v", at.fabric, did, err)
			}
		}
		r.publish(g.build)
	}
	if st := r.server.Stats(); len(st.Readers) != 2 || st.Readers[0].Connects == 0 || st.Readers[1].Connects == 0 {
		t.Errorf("%+v", st.Readers)
	}
	if err := r.server.Close(); err != nil {
		t.Error(err)
	}
}

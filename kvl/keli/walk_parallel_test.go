package keli_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/remora-kv/remora/fabric/fabrictest"
	"github.com/remora-kv/remora/kvl"
	"github.com/remora-kv/remora/kvl/keli"
)

// crowd is a graph with wide levels and narrow ones: links by chance, lists in chunks, and a
// long tail that one item after the other leads to.
func crowd(items, tail int) *graph {
	return &graph{
		items: items + tail, area: 64 << 10, inline: 4,
		links: func(i int) []int {
			if i >= items {
				return []int{min(i+1, items+tail-1)}
			}
			rng := rand.New(rand.NewPCG(7, uint64(i)))
			all := []int{i, min(items, items+tail-1)}
			n := rng.IntN(12)
			if i%500 == 0 {
				n = 300
			}
			for range n {
				all = append(all, rng.IntN(items))
			}
			return all
		},
	}
}

// tally is what the workers of a walk are shown.
type tally struct {
	t     *testing.T
	want  map[int]int // depth of each item
	sizes []int64     // of the levels
	seen  []atomic.Int64
	got   []map[int]int // by worker
}

func newTally(t *testing.T, want map[int]int, workers int) *tally {
	y := &tally{t: t, want: want}
	for _, depth := range want {
		for len(y.sizes) <= depth {
			y.sizes = append(y.sizes, 0)
		}
		y.sizes[depth]++
	}
	y.seen = make([]atomic.Int64, len(y.sizes))
	for range workers {
		y.got = append(y.got, map[int]int{})
	}
	return y
}

// visits are the functions of the workers. None may be called at the same time as itself.
func (y *tally) visits() (all []keli.Visit) {
	for i := range y.got {
		all = append(all, func(it kvl.Item, depth int) (bool, error) {
			n := number(y.t, it)
			if want, ok := y.want[n]; !ok || want != depth {
				return false, fmt.Errorf("item %d at %d, want %d (%v)", n, depth, want, ok)
			}
			if depth > 0 && y.seen[depth-1].Load() != y.sizes[depth-1] {
				return false, fmt.Errorf("item %d at %d, when %d of %d of the level before were visited",
					n, depth, y.seen[depth-1].Load(), y.sizes[depth-1])
			}
			y.seen[depth].Add(1)
			y.got[i][n]++
			return true, nil
		})
	}
	return all
}

// check fails the test if something was not visited, or twice.
func (y *tally) check(did keli.WalkResult, err error) {
	y.t.Helper()
	all := map[int]int{}
	for _, got := range y.got {
		for n, times := range got {
			all[n] += times
		}
	}
	for n, times := range all {
		if times != 1 {
			y.t.Errorf("item %d was visited %d times", n, times)
		}
	}
	if err != nil || len(all) != len(y.want) || did.Items != len(y.want) || did.Depth != len(y.sizes)-1 || did.Cut {
		y.t.Fatalf("%+v, %v: %d items, want %d at %d levels", did, err, len(all), len(y.want), len(y.sizes))
	}
}

// Several workers visit what one would, each item once and at its depth, level after level.
func TestWalkParallel(t *testing.T) {
	andDisorder(t, func(t *testing.T, r *rig) {
		items := 4000
		if emulated {
			items = 1000
		}
		g := crowd(items, 50)
		r.serve(keli.Config{FirstGeneration: 3}, g.build)
		for _, workers := range []int{1, 2, 3, 5} {
			c := r.dial()
			for _, depth := range []int{0, 2} {
				y := newTally(t, reference(g, 500, depth, false), workers)
				did, err := c.WalkParallel(r.ctx(), keli.WalkConfig{
					Keys: [][]byte{key(500)}, Attrs: []string{"to"}, MaxDepth: depth,
				}, y.visits()...)
				y.check(did, err)
				for i, got := range y.got {
					if len(got) < len(y.want)/workers/2 {
						t.Errorf("worker %d of %d has visited %d of %d items", i, workers, len(got), len(y.want))
					}
				}
			}
		}
	})
}

// What one worker cannot read in one piece others can't either, and lists are followed to
// their ends.
func TestWalkParallelInOddImages(t *testing.T) {
	r := newRig(t, fabrics[0])
	g := web()
	r.serve(keli.Config{}, g.build)
	c := r.dial()
	for _, root := range []int{0, 1, 5} {
		y := newTally(t, reference(g, root, 0, false), 2)
		did, err := c.WalkParallel(r.ctx(), keli.WalkConfig{Keys: [][]byte{key(root)}, Attrs: []string{"to"}}, y.visits()...)
		y.check(did, err)
	}
	y := newTally(t, map[int]int{3: 0, 4: 0, 7: 0}, 2)
	cfg := keli.WalkConfig{Attrs: []string{}}
	for _, i := range []int{3, 4, 3, 7} { // one of them twice, and once more by its key
		_, link, err := c.Find(r.ctx(), key(i))
		if err != nil {
			t.Fatal(err)
		}
		cfg.Links = append(cfg.Links, link, kvl.Link{})
	}
	cfg.Keys = [][]byte{key(4)}
	did, err := c.WalkParallel(r.ctx(), cfg, y.visits()...)
	y.check(did, err)
}

func TestWalkParallelLimits(t *testing.T) {
	r := newRig(t, fabrics[0])
	g := crowd(2000, 20)
	r.serve(keli.Config{}, g.build)
	c, ctx := r.dial(), r.ctx()
	reach := len(reference(g, 500, 0, false))
	all := func(kvl.Item, int) (bool, error) { return true, nil }
	for _, most := range []int{1, 2, 17, 299, 1000, reach - 1, reach, reach + 1} {
		did, err := c.WalkParallel(ctx, keli.WalkConfig{Keys: [][]byte{key(500)}, MaxItems: most}, all, all, all)
		if err != nil || did.Items != min(most, reach) || did.Cut != (most < reach) {
			t.Errorf("at most %d of %d: %+v, %v", most, reach, did, err)
		}
	}
	if did, err := c.WalkParallel(ctx, keli.WalkConfig{}, all, all); err != nil || did.Items != 0 {
		t.Errorf("no root: %+v, %v", did, err)
	}
	if _, err := c.WalkParallel(ctx, keli.WalkConfig{Keys: [][]byte{[]byte("nobody")}}, all, all); !errors.Is(err, keli.ErrNotFound) {
		t.Errorf("a root that is not there: %v", err)
	}
	for _, f := range []func() (keli.WalkResult, error){
		func() (keli.WalkResult, error) { return c.WalkParallel(ctx, keli.WalkConfig{}) },
		func() (keli.WalkResult, error) { return c.WalkParallel(ctx, keli.WalkConfig{Mixed: true}, all, all) },
		func() (keli.WalkResult, error) { return c.WalkParallel(ctx, keli.WalkConfig{MaxItems: -1}, all, all) },
	} {
		if _, err := f(); !errors.Is(err, keli.ErrInvalid) {
			t.Errorf("%v", err)
		}
	}
}

// Where there are too few sessions there are fewer workers, also when walks are at the same
// time and their functions call the client.
func TestWalkParallelWithFewSessions(t *testing.T) {
	r := newRig(t, fabrics[0])
	g := crowd(1000, 20)
	r.serve(keli.Config{}, g.build)
	for _, sessions := range []int{1, 2, 3, 8} {
		c := r.dial(keli.WithSessions(sessions))
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				y := newTally(t, reference(g, 500, 0, false), 3)
				did, err := c.WalkParallel(r.ctx(), keli.WalkConfig{Keys: [][]byte{key(500)}, Attrs: []string{"to"}}, y.visits()...)
				if err != nil || did.Items != len(y.want) {
					t.Errorf("%d sessions: %+v, %v", sessions, did, err)
				}
			})
		}
		wg.Wait()
		if sessions < 3 {
			continue
		}
		calls := func(it kvl.Item, _ int) (bool, error) {
			_, err := c.Lookup(r.ctx(), it.Key())
			return true, err
		}
		if did, err := c.WalkParallel(r.ctx(), keli.WalkConfig{Keys: [][]byte{key(500)}}, calls, calls, calls); err != nil {
			t.Errorf("%d sessions: %+v, %v", sessions, did, err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A function that fails, panics or ends its goroutine ends the walk of all workers,
// and the client goes on.
func TestWalkParallelEnds(t *testing.T) {
	r := newRig(t, fabrics[0])
	g := crowd(2000, 20)
	r.serve(keli.Config{}, g.build)
	c := r.dial(keli.WithSessions(4))
	cfg := keli.WalkConfig{Keys: [][]byte{key(500)}}
	all := func(kvl.Item, int) (bool, error) { return true, nil }
	at := func(n int, f func() error) keli.Visit {
		return func(kvl.Item, int) (bool, error) {
			if n--; n == 0 {
				return true, f()
			}
			return true, nil
		}
	}
	enough := errors.New("enough")
	for worker := range 3 {
		for _, n := range []int{1, 200} {
			ctx, cancel := context.WithCancelCause(r.ctx())
			for _, f := range []func() error{
				func() error { return enough },
				func() error { cancel(enough); return nil },
			} {
				visits := []keli.Visit{all, all, all}
				visits[worker] = at(n, f)
				if did, err := c.WalkParallel(ctx, cfg, visits...); !errors.Is(err, enough) {
					t.Errorf("worker %d, item %d: %+v, %v", worker, n, did, err)
				}
			}
		}
	}
	visits := []keli.Visit{all, at(100, func() error { runtime.Goexit(); return nil })}
	if did, err := c.WalkParallel(r.ctx(), cfg, visits...); err == nil {
		t.Errorf("a worker whose goroutine ended: %+v", did)
	}
	func() {
		defer func() {
			if p := recover(); p != "help" {
				t.Errorf("recovered %v", p)
			}
		}()
		_, err := c.WalkParallel(r.ctx(), cfg, at(100, func() error { panic("help") }), all)
		t.Errorf("a panic became %v", err)
	}()
	for range 2 { // nothing is left of them
		y := newTally(t, reference(g, 500, 0, false), 3)
		did, err := c.WalkParallel(r.ctx(), keli.WalkConfig{Keys: [][]byte{key(500)}, Attrs: []string{"to"}}, y.visits()...)
		y.check(did, err)
	}
}

// All workers of a walk are in one generation, or it fails, however fast generations come
// and go.
func TestWalkParallelIsInOneGeneration(t *testing.T) {
	r := newRig(t, fabrics[0])
	r.clock = fabrictest.NewHandClock()
	g := crowd(1500, 20)
	r.serve(keli.Config{Lease: lease, Generations: 1000}, g.build)
	c := r.dial()
	ended, over := 0, 0
	for round := range 40 {
		var schema *kvl.Schema
		stamps := make([][]uint64, 3)
		var visited atomic.Int64
		var visits []keli.Visit
		for i := range stamps {
			visits = append(visits, func(it kvl.Item, _ int) (bool, error) {
				if s := stampOf(t, schema, it); !slices.Contains(stamps[i], s) {
					stamps[i] = append(stamps[i], s)
				}
				if n := visited.Add(1); n == int64(round*50) {
					r.publish(g.build)
					if round%2 == 0 {
						r.clock.Advance(2 * lease)
					}
				}
				return true, nil
			})
		}
		did, err := c.WalkParallel(r.ctx(), keli.WalkConfig{
			Keys: [][]byte{key(500)}, Schema: func(s *kvl.Schema) { schema = s },
		}, visits...)
		switch {
		case err == nil:
			ended++
		case errors.Is(err, keli.ErrGenerationOver):
			over++
		default:
			t.Fatal(err)
		}
		for _, s := range slices.Concat(stamps...) {
			if s != did.Generation {
				t.Fatalf("round %d: an item of generation %d in %d", round, s, did.Generation)
			}
		}
	}
	if ended == 0 || over == 0 {
		t.Errorf("%d walks ended, %d were over before", ended, over)
	}
}

// A walk whose connections are lost goes on with others.
func TestWalkParallelLosesItsServer(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		g := crowd(500, 20)
		r.serve(keli.Config{}, g.build)
		c := r.dial(keli.WithReconnectWait(patience))
		n := atomic.Int64{}
		again := func(kvl.Item, int) (bool, error) {
			if n.Add(1) == 100 {
				if err := r.server.Close(); err != nil {
					return false, err
				}
				r.serve(keli.Config{}, g.build)
			}
			return true, nil
		}
		cfg := keli.WalkConfig{Keys: [][]byte{key(0)}}
		if did, err := c.WalkParallel(r.ctx(), cfg, again, again); !errors.Is(err, keli.ErrGenerationOver) {
			t.Fatalf("a walk in the image of a server that ended: %+v, %v", did, err)
		}
		if did, err := c.WalkParallel(r.ctx(), cfg, again, again); err != nil || did.Items != len(reference(g, 0, 0, false)) {
			t.Fatalf("%+v, %v", did, err)
		}
	})
}

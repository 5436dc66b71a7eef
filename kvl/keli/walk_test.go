package keli_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/remora-kv/remora/kvl"
	"github.com/remora-kv/remora/kvl/keli"
)

// reference walks a graph without a server.
func reference(g *graph, root, maxDepth int, single bool) (depth map[int]int) {
	depth = map[int]int{root: 0}
	for level := []int{root}; len(level) != 0; {
		var next []int
		for _, i := range level {
			if maxDepth != 0 && depth[i] == maxDepth {
				continue
			}
			var to []int
			if single {
				if j := g.single(i); j >= 0 {
					to = append(to, j)
				}
			} else {
				to = g.links(i)
			}
			for _, j := range to {
				if _, ok := depth[j]; !ok {
					depth[j] = depth[i] + 1
					next = append(next, j)
				}
			}
		}
		level = next
	}
	return depth
}

// A walk visits everything once, at the depth of the shortest way, level by level.
func TestWalk(t *testing.T) {
	andDisorder(t, func(t *testing.T, r *rig) {
		g := web()
		r.serve(keli.Config{FirstGeneration: 3}, g.build)
		for _, window := range []int{1, 16} {
			s := r.session(keli.WithWindow(window))
			for _, c := range []struct{ root, depth int }{{0, 0}, {1, 0}, {2, 2}, {5, 1}, {3, 3}, {5, 0}} {
				for attr, single := range map[string]bool{"to": false, "one": true} {
					want := reference(g, c.root, c.depth, single)
					got, last := map[int]int{}, 0
					did, err := s.Walk(r.ctx(), keli.WalkConfig{
						Keys: [][]byte{key(c.root)}, Attrs: []string{attr, "unknown"}, MaxDepth: c.depth,
					}, func(it kvl.Item, depth int) (bool, error) {
						n := number(t, it)
						checkItem(t, s, g, it, n)
						if was, ok := got[n]; ok {
							t.Errorf("item %d at %d, after %d", n, depth, was)
						}
						if depth < last {
							t.Errorf("depth %d after %d", depth, last)
						}
						got[n], last = depth, depth
						return true, nil
					})
					if err != nil || did.Items != len(want) || did.Depth != last || did.Generation != 3 || did.Cut {
						t.Fatalf("%+v: %+v, %v; want %d items", c, did, err, len(want))
					}
					for n, depth := range want {
						if got[n] != depth {
							t.Fatalf("%+v: item %d at %d, want %d", c, n, got[n], depth)
						}
					}
				}
			}
		}
	})
}

// A walk ends where it is told to, and goes on without what it is told to leave out.
func TestWalkLimits(t *testing.T) {
	r := newRig(t, fabrics[0])
	g := web()
	r.serve(keli.Config{}, g.build)
	c, ctx := r.dial(), r.ctx()
	all := func(kvl.Item, int) (bool, error) { return true, nil }
	for _, most := range []int{1, 2, 17, 699, 700, 701} {
		did, err := c.Walk(ctx, keli.WalkConfig{Keys: [][]byte{key(5)}, MaxItems: most}, all)
		if err != nil || did.Items != min(most, 700) || did.Cut != (most < 700) {
			t.Errorf("at most %d: %+v, %v", most, did, err)
		}
	}
	none := func(kvl.Item, int) (bool, error) { return false, nil }
	if did, err := c.Walk(ctx, keli.WalkConfig{Keys: [][]byte{key(5), key(5), key(4)}}, none); err != nil || did.Items != 2 {
		t.Errorf("three roots, of which two are one: %+v, %v", did, err)
	}
	if did, err := c.Walk(ctx, keli.WalkConfig{Keys: [][]byte{key(5)}, Attrs: []string{"unknown"}}, all); err != nil || did.Items != 1 {
		t.Errorf("an attribute that nothing has: %+v, %v", did, err)
	}
	if did, err := c.Walk(ctx, keli.WalkConfig{}, all); err != nil || did.Items != 0 {
		t.Errorf("no root: %+v, %v", did, err)
	}
	_, link, err := c.Find(ctx, key(1))
	if err != nil {
		t.Fatal(err)
	}
	if did, err := c.Walk(ctx, keli.WalkConfig{Links: []kvl.Link{link, {}}}, none); err != nil || did.Items != 1 {
		t.Errorf("a link and one that leads nowhere: %+v, %v", did, err)
	}
	if _, err := c.Walk(ctx, keli.WalkConfig{Keys: [][]byte{[]byte("nobody")}}, all); !errors.Is(err, keli.ErrNotFound) {
		t.Errorf("a root that is not there: %v", err)
	}
	if _, err := c.Walk(ctx, keli.WalkConfig{MaxDepth: -1}, all); !errors.Is(err, keli.ErrInvalid) {
		t.Errorf("a depth of -1: %v", err)
	}
	enough := errors.New("enough")
	did, err := c.Walk(ctx, keli.WalkConfig{Keys: [][]byte{key(5)}}, func(_ kvl.Item, depth int) (bool, error) {
		if depth == 1 {
			return true, enough
		}
		return true, nil
	})
	if !errors.Is(err, enough) || did.Items != 2 {
		t.Errorf("%+v, %v", did, err)
	}
}

// A walk and a list end soon after their context, also where READs never wait.
func TestCancelled(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		g := web()
		r.serve(keli.Config{}, g.build)
		s := r.session()
		item, link, err := s.Find(r.ctx(), key(11))
		if err != nil {
			t.Fatal(err)
		}
		list, _ := item.Clone().List(nameOf(t, s.Schema(), "to"))
		enough := errors.New("enough")
		for what, f := range map[string]func(ctx context.Context, visit func()) error{
			"walk": func(ctx context.Context, visit func()) error {
				_, err := s.Walk(ctx, keli.WalkConfig{Keys: [][]byte{key(5)}}, func(kvl.Item, int) (bool, error) { visit(); return true, nil })
				return err
			},
			"list": func(ctx context.Context, visit func()) error {
				return s.FollowList(ctx, list, func(kvl.Item) error { visit(); return nil })
			},
			"all": func(ctx context.Context, visit func()) error {
				return s.FollowAll(ctx, slices.Repeat([]kvl.Link{link}, 100), func(int, kvl.Item) error { visit(); return nil })
			},
		} {
			ctx, cancel := context.WithCancelCause(r.ctx())
			n := 0
			err := f(ctx, func() {
				if n++; n == 10 {
					cancel(enough)
				}
			})
			if !errors.Is(err, enough) || n > 10+16 {
				t.Errorf("%s: %d items, %v", what, n, err)
			}
		}
		if item, err := s.Lookup(r.ctx(), key(3)); err != nil || number(t, item) != 3 {
			t.Errorf("then: %v", err)
		}
	})
}

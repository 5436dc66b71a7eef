package keli_test

import (
	"errors"
	"testing"

	"github.com/remora-kv/remora/kvl"
	"github.com/remora-kv/remora/kvl/keli"
)

// Items behind links come in the order of the links, whatever the window.
func TestFollowAll(t *testing.T) {
	andDisorder(t, func(t *testing.T, r *rig) {
		g := web()
		r.serve(keli.Config{}, g.build)
		ctx := r.ctx()
		for _, window := range []int{1, 3, 16, 200} {
			s := r.session(keli.WithWindow(window), keli.WithSlot(4096))
			var links []kvl.Link
			for i := range 40 {
				_, l, err := s.Find(ctx, key(i%12))
				if err != nil {
					t.Fatal(err)
				}
				links = append(links, l)
			}
			n := 0
			err := s.FollowAll(ctx, links, func(i int, it kvl.Item) error {
				if i != n || number(t, it) != i%12 {
					t.Errorf("window %d: item %d is %d, after %d", window, i, number(t, it), n)
				}
				n++
				return nil
			})
			if err != nil || n != len(links) {
				t.Errorf("window %d: %d items, %v", window, n, err)
			}
			enough := errors.New("enough")
			if err := s.FollowAll(ctx, links, func(int, kvl.Item) error { return enough }); !errors.Is(err, enough) {
				t.Errorf("an error of visit became %v", err)
			}
			links[5] = kvl.Link{}
			if err := s.FollowAll(ctx, links, func(int, kvl.Item) error { return nil }); !errors.Is(err, keli.ErrNotFound) {
				t.Errorf("a link that leads nowhere gave %v", err)
			}
			if err := s.FollowAll(ctx, nil, nil); err != nil {
				t.Errorf("no links: %v", err)
			}
		}
	})
}

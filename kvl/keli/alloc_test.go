//go:build !race

package keli_test

import (
	"testing"

	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/kvl"
	"github.com/remora-kv/remora/kvl/keli"
)

// Follow allocates nothing (E10), nor does a list, but for what its caller's function does.
func TestFollowDoesNotAllocate(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		if r.fabric == provider.TCP { // other goroutines of the device allocate
			return
		}
		r.serve(keli.Config{}, web().build)
		s, ctx := r.session(), r.ctx()
		item, link, err := s.Find(ctx, key(16))
		if err != nil {
			t.Fatal(err)
		}
		list, _ := item.Clone().List(nameOf(t, s.Schema(), "to"))
		if n := testing.AllocsPerRun(1000, func() { _, err = s.Follow(ctx, link) }); n != 0 || err != nil {
			t.Errorf("%v allocations for a Follow, %v", n, err)
		}
		visit := func(kvl.Item) error { return nil }
		if n := testing.AllocsPerRun(100, func() { err = s.FollowList(ctx, list, visit) }); n > 1 || err != nil {
			t.Errorf("%v allocations for a list of %d, %v", n, list.Len(), err)
		}
	})
}

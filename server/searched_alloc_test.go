//go:build !race

// The race detector allocates.

package server_test

import (
	"testing"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/server"
)

// A get that is found without the server allocates nothing, by links and on every path
// that searches.
func TestSeenGetsDoNotAllocate(t *testing.T) {
	r := newRig(t, fabrics[0])
	t.Run("links", func(t *testing.T) { seenAllocations(t, r.linked(), remora.WithLinks(8)) })
	for _, path := range searches {
		t.Run(string(path), func(t *testing.T) {
			cfg := r.config()
			cfg.Engine = server.Engine(string(path))
			seenAllocations(t, cfg, remora.WithPath(path))
		})
	}
}

func seenAllocations(t *testing.T, cfg server.Config, opts ...remora.Option) {
	t.Helper()
	r := newRig(t, fabrics[0])
	cfg.Providers = r.set
	r.start(cfg)
	ctx := testContext(t)
	s := session(t, r.dial(opts...))
	if _, err := s.Set(ctx, "key", make([]byte, 100), 0); err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 0, 1024)
	get := func() {
		if item, err := s.GetInto(ctx, "key", buffer); err != nil || len(item.Value) != 100 {
			t.Fatal(item, err)
		}
	}
	for range 10 {
		get()
	}
	before := s.Counters().OneSidedHits
	if n := testing.AllocsPerRun(200, get); n != 0 {
		t.Errorf("%v allocations for a get", n)
	}
	if s.Counters().OneSidedHits == before {
		t.Error("the server was asked")
	}
}

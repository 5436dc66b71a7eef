//go:build !race

package server_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/fabric/provider"
)

// A value that travels in pieces is copied into buffers that are kept, by client and
// server: what both allocate for one is a small part of it.
func TestLargeValuesAreNotAllocated(t *testing.T) {
	for _, name := range []string{provider.Loop, provider.Shm} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, name)
			cfg := r.config()
			cfg.Memory, cfg.MaxValue = 64<<20, 1<<20
			r.start(cfg)
			c := r.dial()
			checkLargeAllocations(t, "client", c)
			checkLargeAllocations(t, "session", session(t, c))
		})
	}
}

// largeOps are the operations of clients and sessions that carry values.
type largeOps interface {
	GetInto(ctx context.Context, key string, dst []byte) (remora.Item, error)
	Set(ctx context.Context, key string, value []byte, ttl time.Duration) (uint64, error)
}

func checkLargeAllocations(t *testing.T, name string, o largeOps) {
	const rounds = 20
	ctx, value := testContext(t), make([]byte, 1<<20)
	buf := make([]byte, 0, len(value)+remora.ItemOverhead)
	set := func(i int) {
		if _, err := o.Set(ctx, fmt.Sprint("key ", i%4), value, 0); err != nil {
			t.Fatal(err)
		}
	}
	get := func(i int) {
		if item, err := o.GetInto(ctx, fmt.Sprint("key ", i%4), buf); err != nil || len(item.Value) != len(value) {
			t.Fatal(err)
		}
	}
	for i := range rounds { // buffers grow
		set(i)
		get(i)
	}
	for what, f := range map[string]func(int){"Set": set, "GetInto": get} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for i := range rounds {
			f(i)
		}
		runtime.ReadMemStats(&after)
		if n := (after.TotalAlloc - before.TotalAlloc) / rounds; n > uint64(len(value))/8 {
			t.Errorf("%s of a %s, %d bytes: %d bytes allocated", what, name, len(value), n)
		}
	}
}

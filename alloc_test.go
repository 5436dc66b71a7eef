//go:build !race

package remora_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/server"
)

func TestAllocations(t *testing.T) {
	for _, name := range fabrics {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, name)
			r.serve(cores(2))
			c := r.dial()
			testAllocations(t, "client", c)
			testAllocations(t, "session", session(t, c))
			testStartAllocations(t, session(t, c, remora.WithBatch(4)))
			testAllocations(t, "client by herd", r.dial(remora.WithPath(remora.PathHerd)))
			testAllocations(t, "session by herd", session(t, c, remora.WithPath(remora.PathHerd)))
			testAllocations(t, "client by sendrecv", r.dial(remora.WithPath(remora.PathSendRecv)))
			testAllocations(t, "session by sendrecv", session(t, c, remora.WithPath(remora.PathSendRecv)))
		})
	}
}

// none checks that f allocates at most so often. The layers below grow buffers
// while they warm up, so there are several tries.
func none(t *testing.T, what string, most float64, f func()) {
	t.Helper()
	n := 0.0
	for range 10 {
		if n = testing.AllocsPerRun(30, f); n <= most {
			return
		}
	}
	t.Errorf("%s: %.1f allocations, want %.0f", what, n, most)
}

func testAllocations(t *testing.T, name string, o ops) {
	ctx := context.Background()
	value := make([]byte, 300)
	const key = "a key of some length"
	if _, err := o.Set(ctx, key, value, 0); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 0, len(value)+remora.ItemOverhead)
	none(t, name+" GetInto", 0, func() {
		if item, err := o.GetInto(ctx, key, buf); err != nil || len(item.Value) != len(value) {
			t.Fatal(err)
		}
	})
	none(t, name+" GetInto of nothing", 0, func() {
		if _, err := o.GetInto(ctx, "nothing", buf); !errors.Is(err, remora.ErrNotFound) {
			t.Fatal(err)
		}
	})
	none(t, name+" Get", 1, func() {
		if _, err := o.Get(ctx, key); err != nil {
			t.Fatal(err)
		}
	})
	none(t, name+" Delete of nothing", 0, func() {
		if err := o.Delete(ctx, "nothing"); !errors.Is(err, remora.ErrNotFound) {
			t.Fatal(err)
		}
	})
	none(t, name+" Touch", 1, func() { // by the server
		if err := o.Touch(ctx, key, 0); err != nil {
			t.Fatal(err)
		}
	})
	none(t, name+" Add of what is there", 0, func() {
		if _, err := o.Add(ctx, key, value, 1); !errors.Is(err, remora.ErrExists) {
			t.Fatal(err)
		}
	})
}

func testStartAllocations(t *testing.T, s *remora.Session) {
	ctx := context.Background()
	none(t, "started operations", 0, func() {
		for i := range uint64(8) {
			if err := s.StartGet(i, "a key of some length"); err != nil {
				t.Fatal(err)
			}
			if err := s.StartPut(i, "a key of some length", remora.Entry{TTL: 1}, remora.IfAbsent()); err != nil {
				t.Fatal(err)
			}
		}
		for s.Pending() != 0 {
			if _, err := s.Next(ctx); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// Nothing is allocated on the way to the server, nor by it.
func TestServerAllocations(t *testing.T) {
	r := newRig(t, "shm")
	r.start(server.Config{Cores: 2})
	c, ctx := r.dial(), testContext(t)
	value := make([]byte, 300)
	buf := make([]byte, 0, len(value)+remora.ItemOverhead)
	for name, o := range map[string]ops{"client": c, "session": session(t, c)} {
		none(t, name, 0, func() {
			if _, err := o.Set(ctx, "key", value, time.Hour); err != nil {
				t.Fatal(err)
			}
			if _, err := o.GetInto(ctx, "key", buf); err != nil {
				t.Fatal(err)
			}
			if err := o.Touch(ctx, "key", 0); err != nil {
				t.Fatal(err)
			}
			if err := o.Delete(ctx, "key"); err != nil {
				t.Fatal(err)
			}
		})
	}
}

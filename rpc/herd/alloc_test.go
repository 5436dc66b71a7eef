//go:build !race

// The race detector allocates.

package herd_test

import (
	"testing"

	"github.com/remora-kv/remora/rpc/herd"
)

// Neither end allocates for a call.
func TestCallsDoNotAllocate(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.serve(herd.ServerConfig{Expect: func(int, int, uint64) {}})
		c := r.dial(herd.ConnConfig{})
		l, msg := c.CoreConn(0), request(procEcho, make([]byte, 500))
		once := func() {
			if err := l.Send(1, msg); err != nil {
				t.Fatal(err)
			}
			for !l.Ready() {
				if !c.Wait(patience) || c.Err() != nil {
					t.Fatal(c.Err())
				}
			}
			if got, err, _ := l.Next(); err != nil || len(got) != 500 {
				t.Fatal(len(got), err)
			}
		}
		for range 100 {
			once()
		}
		if n := testing.AllocsPerRun(500, once); n >= 1 {
			t.Errorf("%v allocations for a call", n)
		}
	})
}

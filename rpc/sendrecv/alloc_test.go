//go:build !race

// The race detector allocates.

package sendrecv_test

import (
	"testing"

	"github.com/remora-kv/remora/rpc/sendrecv"
)

// Neither end allocates for a call.
func TestCallsDoNotAllocate(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.serve(sendrecv.ServerConfig{Expect: func(int, [][]byte) {}})
		c := r.dial(sendrecv.ConnConfig{})
		msg := request(procEcho, make([]byte, 500))
		once := func() {
			if err := c.Send(msg); err != nil {
				t.Fatal(err)
			}
			for !c.Ready() {
				if !c.Wait(patience) || c.Err() != nil {
					t.Fatal(c.Err())
				}
			}
			if got, err, _ := c.Next(); err != nil || len(got) != 500 {
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

//go:build !race

package rfp_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/rpc/rfp"
)

// allocsOf returns what the whole process allocates during many calls.
// testing.AllocsPerRun would leave one processor for client and server.
func allocsOf(calls int, f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range calls {
		f()
	}
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs
}

// quiet returns the fabrics of this machine that allocate nothing themselves.
func quiet() []string {
	return slices.DeleteFunc(slices.Clone(fabrics), func(name string) bool { return name != provider.Loop && name != provider.Shm })
}

// A call in steady state allocates nothing, neither here nor at the server.
func TestCallsDoNotAllocate(t *testing.T) {
	for _, name := range quiet() {
		for _, mode := range []rfp.Mode{rfp.Fetch, rfp.Reply} {
			for _, shape := range []struct{ size, batch int }{{32, 1}, {1000, 1}, {100, 4}} {
				t.Run(fmt.Sprintf("%s/%v/size=%d/batch=%d", name, mode, shape.size, shape.batch), func(t *testing.T) {
					callsWithoutAllocs(t, newRig(t, name), mode, shape.size, shape.batch)
				})
			}
		}
	}
}

func callsWithoutAllocs(t *testing.T, r *rig, mode rfp.Mode, size, batch int) {
	r.serve(rfp.ServerConfig{})
	c := r.dial(rfp.ConnConfig{Batch: batch, Params: rfp.Params{Pinned: true, Mode: mode}})
	msg := request(procEcho, pattern(size, 1))
	f := func() {
		for range batch {
			if err := c.Send(1, msg); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Flush(); err != nil {
			t.Fatal(err)
		}
		for got := 0; got < batch; {
			if !c.Wait(patience) {
				t.Fatal(c.Err())
			}
			for ok := true; ok; {
				if _, _, ok = c.Next(); ok {
					got++
				}
			}
		}
	}
	allocsOf(100, f)
	// Two in a hundred are for the runtime, which allocates when threads wake,
	// and for a push that overtakes a READ of the same frame.
	const calls = 500
	if n := leastAllocs(calls, f); n > calls/50 {
		t.Errorf("%d allocations in %d calls; %+v", n, calls, c.Stats())
	}
}

// leastAllocs is the fewest of several rounds. What happens at the beginning of a
// connection, such as pushes that wait until the server has mapped the client's
// memory, is over in one of them, however busy the machine is.
func leastAllocs(calls int, f func()) uint64 {
	least := allocsOf(calls, f)
	for round := 0; round < 9 && least > uint64(calls/50); round++ {
		least = min(least, allocsOf(calls, f))
	}
	return least
}

// Client.Call allocates nothing either, when its buffers are large enough.
func TestClientCallsDoNotAllocate(t *testing.T) {
	for _, name := range quiet() {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, name)
			r.serve(rfp.ServerConfig{})
			c := r.client(rfp.ConnConfig{Params: rfp.Params{Pinned: true}})
			arg, out := pattern(100, 1), make([]byte, 0, 256)
			f := func() {
				var err error
				if out, err = c.Call(context.Background(), procEcho, arg, out[:0]); err != nil {
					t.Fatal(err)
				}
			}
			allocsOf(100, f)
			const calls = 500
			if n := leastAllocs(calls, f); n > calls/50 {
				t.Errorf("%d allocations in %d calls", n, calls)
			}
		})
	}
}

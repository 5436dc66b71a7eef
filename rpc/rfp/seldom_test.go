package rfp_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/rfp"
)

// Who polls now and then, between other work, sees a result soon after it is there,
// whichever way it comes and though the server slept.
func TestPollNowAndThen(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		for name, params := range map[string]rfp.Params{"fetch": {Pinned: true}, "reply": {Mode: rfp.Reply, Pinned: true}, "hybrid": {}} {
			t.Run(name, func(t *testing.T) {
				r := newRig(t, r.Fabric)
				const procNote = 77
				var served atomic.Int64
				r.Mux.Handle(procNote, func(_ *rpc.Call, out []byte) ([]byte, error) {
					served.Add(1)
					return out, nil
				})
				r.serve(rfp.ServerConfig{})
				c := r.dial(rfp.ConnConfig{Params: params})
				for range 1000 { // it gets used to quick answers
					if _, err := call(t, c, procEcho, nil); err != nil {
						t.Fatal(err)
					}
				}
				for n := int64(1); n <= 2; n++ {
					time.Sleep(20 * time.Millisecond) //lint:allow sleep for the server to fall asleep; if it does not, the case is easier
					if err := c.Send(0, request(procNote, nil)); err != nil {
						t.Fatal(err)
					}
					polls, late := 0, 0
					for ; !c.Poll(); polls++ {
						time.Sleep(time.Millisecond) //lint:allow sleep the other work
						if served.Load() == n {
							late++
						}
						if c.Err() != nil || polls > 20_000 {
							t.Fatalf("no result after %d polls: %v", polls, c.Err())
						}
					}
					if late > 100 {
						t.Errorf("the answer was there for %d of %d polls", late, polls)
					}
					if _, err, ok := c.Next(); err != nil || !ok {
						t.Fatalf("%v, %v", err, ok)
					}
				}
			})
		}
	})
}

package rfp_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/rfp"
)

// A core that is busy for longer than anybody expected loses none of its clients,
// neither those that it has nor one that came meanwhile and wakes it in vain.
func TestCoreThatIsLongBusy(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		const procLong = 77
		var entered, late atomic.Bool
		release := make(chan struct{})
		r.mux.Handle(procLong, func(_ *rpc.Call, out []byte) ([]byte, error) {
			entered.Store(true)
			<-release
			return append(out, "done"...), nil
		})
		s := r.serve(rfp.ServerConfig{})
		busy, idle := r.dial(rfp.ConnConfig{}), r.dial(rfp.ConnConfig{})
		if _, err := call(t, idle, procEcho, []byte("x")); err != nil {
			t.Fatal(err)
		}
		await(t, "both to be there", func() bool { return s.Stats().Clients == 2 })
		if err := busy.Send(0, request(procLong, nil)); err != nil {
			t.Fatal(err)
		}
		for !entered.Load() {
			busy.Wait(time.Millisecond)
		}
		conns := []*rfp.Conn{idle, r.dial(rfp.ConnConfig{})}
		for _, c := range conns {
			if err := c.Send(0, request(procEcho, []byte("y"))); err != nil {
				t.Fatal(err)
			}
		}
		timer := time.AfterFunc(1500*time.Millisecond, func() { late.Store(true); close(release) })
		defer timer.Stop()
		for !late.Load() {
			for _, c := range conns {
				if c.Wait(time.Millisecond) && !late.Load() {
					t.Fatalf("an answer of a core that is busy: %v", c.Err())
				}
			}
		}
		for i, c := range append(conns, busy) {
			if !c.Wait(patience) {
				t.Fatalf("client %d: no result: %v", i, c.Err())
			}
			if _, err, ok := c.Next(); err != nil || !ok {
				t.Errorf("client %d: %v, %v", i, err, ok)
			}
		}
	})
}

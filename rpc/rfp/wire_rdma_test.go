//go:build rdma && wire

package rfp_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/remora-kv/remora/rpc/rfp"
	"github.com/remora-kv/remora/test/rpctest"
)

// TestWire runs on two machines at once, joined by a wire (rpctest.Wire).
func TestWire(t *testing.T) { rpctest.Wire(t, "7101", wireServer, wireClients) }

func wireServer(t *testing.T, base *rpctest.Rig) {
	r := &rig{Rig: base}
	r.HandleMake()
	wait := r.HandleOver()
	s := r.serve(rfp.ServerConfig{})
	wait()
	rpctest.Await(t, "the clients to leave", func() bool { return s.Stats().Clients == 0 })
	if st := s.Stats(); st.Failures != 0 || st.Cut+st.Lost != 0 || st.Pushes == 0 {
		t.Errorf("%+v", st)
	}
}

func wireClients(t *testing.T, r *rpctest.Rig) {
	dev := r.NewDevice()
	c := rpctest.UntilThere(r, func(ctx context.Context) (*rfp.Conn, error) {
		return rfp.Dial(ctx, r.Addr, rfp.ConnConfig{Device: dev})
	})
	for _, mode := range []rfp.Mode{rfp.Fetch, rfp.Reply} {
		t.Run(fmt.Sprintf("sizes/%v", mode), func(t *testing.T) {
			r := &rig{Rig: &rpctest.Rig{TB: t, Fabric: r.Fabric, Set: r.Set, Addr: r.Addr}}
			r.callEverySize(t, mode)
		})
	}
	for name, params := range hammerModes {
		t.Run("hammer/"+name, func(t *testing.T) {
			r := &rig{Rig: &rpctest.Rig{TB: t, Fabric: r.Fabric, Set: r.Set, Addr: r.Addr}}
			r.hammerServer(t, params, 4, 2)
		})
	}
	r.Over(func(proc uint16, arg []byte) ([]byte, error) { return call(t, c, proc, arg) })
}

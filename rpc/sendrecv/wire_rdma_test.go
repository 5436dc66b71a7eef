//go:build rdma && wire

package sendrecv_test

import (
	"context"
	"testing"

	"github.com/remora-kv/remora/rpc/sendrecv"
	"github.com/remora-kv/remora/test/rpctest"
)

// TestWire runs on two machines at once, joined by a wire (rpctest.Wire).
func TestWire(t *testing.T) { rpctest.Wire(t, "7103", wireServer, wireClients) }

func wireServer(t *testing.T, base *rpctest.Rig) {
	r := &rig{Rig: base}
	r.HandleMake()
	r.HandleCount()
	wait := r.HandleOver()
	s := r.serve(sendrecv.ServerConfig{Cores: 2})
	wait()
	await(t, "the clients to leave", func() bool { return s.Stats().Clients == 0 })
	if st := s.Stats(); st.Failures+st.Cut+st.Lost != 0 {
		t.Errorf("%+v", st)
	}
}

func wireClients(t *testing.T, base *rpctest.Rig) {
	r := &rig{Rig: base}
	control := rpctest.UntilThere(base, func(context.Context) (*sendrecv.Conn, error) { return r.tryDial(sendrecv.ConnConfig{}) })
	for i, window := range []int{1, 4, 16} {
		c := r.dial(sendrecv.ConnConfig{Window: window, Core: i % 2})
		if _, _, err := countUp(c, uint32(i), 200, 300*i); err != nil {
			t.Errorf("window %d: %v; %+v", window, err, c.Stats())
		}
		if err := hammer(c, 100, uint64(i)); err != nil {
			t.Errorf("window %d: %v; %+v", window, err, c.Stats())
		}
	}
	r.Over(func(proc uint16, arg []byte) ([]byte, error) { return call(control, proc, arg) })
}

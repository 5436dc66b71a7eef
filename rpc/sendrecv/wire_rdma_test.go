//go:build rdma && wire

package sendrecv_test

import (
	"context"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/sendrecv"
)

// TestWire runs on two machines at once, joined by a wire: the same binary on both, one
// the server and one its clients. The build tag wire says that there are two:
//
//	rocevm test -guests 2 -tags rdma,wire ./rpc/sendrecv -run TestWire
func TestWire(t *testing.T) {
	switch role := os.Getenv("ROCEVM_GUEST"); role {
	case "server":
		wireServer(t)
	case "client":
		wireClients(t)
	default:
		t.Fatalf("needs two machines: ROCEVM_GUEST is %q, neither server nor client", role)
	}
}

// procOver tells the server that there is nothing more to do.
const procOver uint16 = 71

// wireTime is how long each side may take, and wait for the other.
const wireTime = 2 * time.Minute

// wireAddr is where the server is, named by its address as each side knows it.
func wireAddr(host string) fabric.Addr {
	return fabric.Addr{Fabric: provider.RDMA, Name: net.JoinHostPort(os.Getenv(host), "7103")}
}

func wireServer(t *testing.T) {
	r := newRig(t, provider.RDMA)
	r.HandleMake()
	r.HandleCount()
	over := make(chan struct{})
	var once sync.Once
	r.Mux.Handle(procOver, func(_ *rpc.Call, out []byte) ([]byte, error) {
		once.Do(func() { close(over) })
		return out, nil
	})
	r.Listen = wireAddr("ROCEVM_SELF")
	s := r.serve(sendrecv.ServerConfig{Cores: 2})
	ctx, cancel := context.WithTimeout(t.Context(), wireTime)
	defer cancel()
	select {
	case <-over:
	case <-ctx.Done():
		t.Fatalf("the client has not ended; %+v", s.Stats())
	}
	await(t, "the clients to leave", func() bool { return s.Stats().Clients == 0 })
	if st := s.Stats(); st.Failures+st.Cut+st.Lost != 0 {
		t.Errorf("%+v", st)
	}
}

func wireClients(t *testing.T) {
	r := newRig(t, provider.RDMA)
	r.Addr = wireAddr("ROCEVM_PEER")
	control := r.dialUntilThere(t)
	for i, window := range []int{1, 4, 16} {
		c := r.dial(sendrecv.ConnConfig{Window: window, Core: i % 2})
		if _, _, err := countUp(c, uint32(i), 200, 300*i); err != nil {
			t.Errorf("window %d: %v; %+v", window, err, c.Stats())
		}
		if err := hammer(c, 100, uint64(i)); err != nil {
			t.Errorf("window %d: %v; %+v", window, err, c.Stats())
		}
	}
	if _, err := call(control, procOver, nil); err != nil {
		t.Error(err)
	}
}

// dialUntilThere connects as soon as the server listens.
func (r *rig) dialUntilThere(t *testing.T) *sendrecv.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wireTime)
	defer cancel()
	for {
		c, err := r.tryDial(sendrecv.ConnConfig{})
		if err == nil {
			t.Cleanup(func() { _ = c.Close() })
			return c
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("the server is not there: %v", err)
		}
	}
}

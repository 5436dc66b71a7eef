//go:build rdma && wire

package rfp_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/rfp"
	"github.com/remora-kv/remora/test/rpctest"
)

// TestWire runs on two machines at once, joined by a wire: the same binary on
// both, one the server and one its clients. The build tag wire says that there
// are two:
//
//	rocevm test -guests 2 -tags rdma,wire ./rpc/rfp -run TestWire
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
const procOver uint16 = 70

// wireTime is how long each side may take, and wait for the other.
const wireTime = 2 * time.Minute

// wireAddr is where the server is, named by its address as each side knows it.
func wireAddr(host string) fabric.Addr {
	return fabric.Addr{Fabric: provider.RDMA, Name: net.JoinHostPort(os.Getenv(host), "7101")}
}

func wireServer(t *testing.T) {
	r := newRig(t, provider.RDMA)
	r.Listen = wireAddr("ROCEVM_SELF")
	r.HandleMake()
	over := make(chan struct{})
	var once sync.Once
	r.Mux.Handle(procOver, func(_ *rpc.Call, out []byte) ([]byte, error) {
		once.Do(func() { close(over) })
		return out, nil
	})
	s := r.serve(rfp.ServerConfig{})
	ctx, cancel := context.WithTimeout(t.Context(), wireTime)
	defer cancel()
	select {
	case <-over:
	case <-ctx.Done():
		t.Fatalf("the client has not ended; %+v", s.Stats())
	}
	for s.Stats().Clients != 0 {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("clients are left; %+v", s.Stats())
		}
	}
	if st := s.Stats(); st.Failures != 0 || st.Cut+st.Lost != 0 || st.Pushes == 0 {
		t.Errorf("%+v", st)
	}
}

func wireClients(t *testing.T) {
	r := newRig(t, provider.RDMA)
	r.Addr = wireAddr("ROCEVM_PEER")
	c := r.dialUntilThere(t)
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
	if _, err := call(t, c, procOver, nil); err != nil {
		t.Error(err)
	}
}

// dialUntilThere connects as soon as the server listens.
func (r *rig) dialUntilThere(t *testing.T) *rfp.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wireTime)
	defer cancel()
	dev := r.NewDevice()
	for {
		c, err := rfp.Dial(ctx, r.Addr, rfp.ConnConfig{Device: dev})
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

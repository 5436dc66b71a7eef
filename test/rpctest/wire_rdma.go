//go:build rdma && wire

package rpctest

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
)

// WireTime is how long each side of a test on two machines may take, and wait for the other.
const WireTime = 2 * time.Minute

// over tells the server that there is nothing more to do.
const over uint16 = 71

// Wire runs the part of this machine in a test on two: the same binary on both, one the server and
// one its clients. The build tag wire says that there are two:
//
//	rocevm test -guests 2 -tags rdma,wire ./rpc/rfp -run TestWire
//
// The server listens at port. It ends, and serve returns, when the clients are done.
func Wire(t *testing.T, port string, serve, call func(t *testing.T, r *Rig)) {
	r := New(t, provider.RDMA)
	r.Listen, r.Addr = wireAddr("ROCEVM_SELF", port), wireAddr("ROCEVM_PEER", port)
	switch role := os.Getenv("ROCEVM_GUEST"); role {
	case "server":
		serve(t, r)
	case "client":
		call(t, r)
	default:
		t.Fatalf("needs two machines: ROCEVM_GUEST is %q, neither server nor client", role)
	}
}

// wireAddr is where the server is, named by its address as each side knows it.
func wireAddr(host, port string) fabric.Addr {
	return fabric.Addr{Fabric: provider.RDMA, Name: net.JoinHostPort(os.Getenv(host), port)}
}

// HandleOver handles Over, and returns what waits for its first call.
func (r *Rig) HandleOver() (wait func()) {
	done := make(chan struct{})
	var once sync.Once
	r.Mux.Handle(over, func(_ *rpc.Call, out []byte) ([]byte, error) {
		once.Do(func() { close(done) })
		return out, nil
	})
	return func() {
		r.Helper()
		select {
		case <-done:
		case <-time.After(WireTime):
			r.Fatal("the clients have not ended")
		}
	}
}

// Over tells the server by a call that there is nothing more to do.
func (r *Rig) Over(call func(proc uint16, arg []byte) ([]byte, error)) {
	r.Helper()
	if _, err := call(over, nil); err != nil {
		r.Error(err)
	}
}

// UntilThere dials until the server listens, and closes the connection at the end.
func UntilThere[C interface{ Close() error }](r *Rig, dial func(ctx context.Context) (C, error)) C {
	r.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), WireTime)
	defer cancel()
	for {
		c, err := dial(ctx)
		if err == nil {
			return Opened(r, c, nil)
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			r.Fatalf("the server is not there: %v", err)
		}
	}
}

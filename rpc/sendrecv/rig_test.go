package sendrecv_test

import (
	"errors"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc/sendrecv"
	"github.com/remora-kv/remora/test/rpctest"
)

const (
	patience   = rpctest.Patience
	procEcho   = rpctest.Echo
	procDouble = rpctest.Double
	procFail   = rpctest.Fail
	procAfter  = rpctest.After
	procCount  = rpctest.Count
	procRead   = rpctest.Counted
)

var (
	fabrics = rpctest.Fabrics()
	request = rpctest.Request
	await   = rpctest.Await
)

// rig is a server and what is needed to connect to it.
type rig struct {
	*rpctest.Rig
	server *sendrecv.Server
}

// eachFabric runs f on every fabric.
func eachFabric(t *testing.T, f func(t *testing.T, r *rig)) {
	rpctest.EachFabric(t, func(t *testing.T, r *rpctest.Rig) { f(t, &rig{Rig: r}) })
}

func newRig(t testing.TB, name string) *rig { return &rig{Rig: rpctest.New(t, name)} }

// serve starts the server.
func (r *rig) serve(cfg sendrecv.ServerConfig) *sendrecv.Server {
	r.Helper()
	r.Device = r.NewDevice()
	cfg.Devices = []fabric.Device{r.Device}
	if cfg.Serve == nil {
		cfg.Serve = r.Mux.Serve
	}
	s, err := sendrecv.NewServer(cfg)
	r.server = rpctest.Opened(r.Rig, s, err)
	if r.Addr, err = s.Listen(r.Device, r.Listen, fabric.ListenConfig{}); err != nil {
		r.Fatal(err)
	}
	return s
}

// tryDial connects to the server.
func (r *rig) tryDial(cfg sendrecv.ConnConfig) (*sendrecv.Conn, error) {
	r.Helper()
	if cfg.Device == nil {
		cfg.Device = r.NewDevice()
	}
	ctx, cancel := rpctest.Patient()
	defer cancel()
	return sendrecv.Dial(ctx, r.Addr, cfg)
}

// dial connects to the server and disconnects at the end.
func (r *rig) dial(cfg sendrecv.ConnConfig) *sendrecv.Conn {
	r.Helper()
	c, err := r.tryDial(cfg)
	return rpctest.Opened(r.Rig, c, err)
}

// call makes one call and returns a copy of its result.
func call(c *sendrecv.Conn, proc uint16, arg []byte) ([]byte, error) {
	if err := c.Send(request(proc, arg)); err != nil {
		return nil, err
	}
	if !c.Wait(patience) || !c.Ready() {
		return nil, errors.Join(errors.New("no result"), c.Err())
	}
	data, err, _ := c.Next()
	return append([]byte(nil), data...), err
}

// countUp makes n calls with full windows, and checks that each was counted exactly once
// and in order. It returns how many were sent and how many have their results.
func countUp(c *sendrecv.Conn, which uint32, n, size int) (sent, taken int, err error) {
	return rpctest.CountUp(c, []rpctest.Sender{c}, which, n, size)
}

// hammer makes calls of all lengths, and checks every byte.
func hammer(c *sendrecv.Conn, calls int, seed uint64) error {
	return rpctest.Hammer(c, []rpctest.Sender{c}, calls, seed)
}

package rfp_test

import (
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc/rfp"
	"github.com/remora-kv/remora/test/rpctest"
)

const (
	patience   = rpctest.Patience
	procEcho   = rpctest.Echo
	procDouble = rpctest.Double
	procFail   = rpctest.Fail

	procSpin uint16 = 50
)

var (
	fabrics = rpctest.Fabrics()
	request = rpctest.Request
)

// rig is a server and what is needed to connect to it.
type rig struct {
	*rpctest.Rig
	server *rfp.Server
}

// eachFabric runs f on every fabric.
func eachFabric(t *testing.T, f func(t *testing.T, r *rig)) {
	rpctest.EachFabric(t, func(t *testing.T, r *rpctest.Rig) { f(t, &rig{Rig: r}) })
}

func newRig(t testing.TB, name string) *rig { return &rig{Rig: rpctest.New(t, name)} }

// serve starts the server.
func (r *rig) serve(cfg rfp.ServerConfig) *rfp.Server {
	r.Helper()
	if cfg.Device == nil {
		cfg.Device = r.NewDevice()
	}
	if cfg.Serve == nil {
		cfg.Serve = r.Mux.Serve
	}
	s, err := rfp.NewServer(cfg)
	r.server = rpctest.Opened(r.Rig, s, err)
	if r.Addr, err = s.Listen(r.Listen, fabric.ListenConfig{}); err != nil {
		r.Fatal(err)
	}
	return s
}

// dial connects to the server.
func (r *rig) dial(cfg rfp.ConnConfig) *rfp.Conn {
	r.Helper()
	if cfg.Device == nil {
		cfg.Device = r.NewDevice()
	}
	ctx, cancel := rpctest.Patient()
	defer cancel()
	c, err := rfp.Dial(ctx, r.Addr, cfg)
	return rpctest.Opened(r.Rig, c, err)
}

// warm makes long calls until the connection has its bulk areas.
func warm(t testing.TB, c *rfp.Conn) {
	t.Helper()
	msg := request(procEcho, make([]byte, 3000))
	for !c.HasAreas() {
		if err := c.Send(uint8(procEcho), msg); err != nil {
			t.Fatal(err)
		}
		if !c.Wait(patience) {
			t.Fatalf("no result: %v", c.Err())
		}
		if _, err, ok := c.Next(); !ok || err != nil {
			t.Fatalf("%v, %v", err, c.Err())
		}
	}
}

// call makes one call and returns a copy of its result.
func call(t *testing.T, c *rfp.Conn, proc uint16, arg []byte) ([]byte, error) {
	t.Helper()
	if err := c.Send(uint8(proc), request(proc, arg)); err != nil {
		t.Fatal(err)
	}
	if !c.Wait(patience) {
		t.Fatalf("no result: %v", c.Err())
	}
	data, err, ok := c.Next()
	if !ok {
		t.Fatalf("Wait says that there is a result, Next has none: %v", c.Err())
	}
	return append([]byte(nil), data...), err
}

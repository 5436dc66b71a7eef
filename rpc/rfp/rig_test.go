package rfp_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/rfp"
	"github.com/remora-kv/remora/test/scale"
)

// fabrics are those that every test of the path runs on.
var fabrics = scale.Fabrics()

// eachFabric runs f on every fabric.
func eachFabric(t *testing.T, f func(t *testing.T, r *rig)) {
	for _, name := range fabrics {
		t.Run(name, func(t *testing.T) { f(t, newRig(t, name)) })
	}
}

// rig is a server and what is needed to connect to it.
type rig struct {
	t      testing.TB
	fabric string
	set    *provider.Set
	server *rfp.Server
	listen fabric.Addr // where the server listens
	addr   fabric.Addr // and where it can be reached
	mux    rpc.Mux
}

const (
	procEcho uint16 = 1 + iota
	procDouble
	procFail
	procSpin
)

func newRig(t testing.TB, name string) *rig {
	r := &rig{t: t, fabric: name, set: provider.New(), listen: freeAddr(t, name)}
	r.mux.Handle(procEcho, func(c *rpc.Call, out []byte) ([]byte, error) { return append(out, c.Request...), nil })
	r.mux.Handle(procDouble, func(c *rpc.Call, out []byte) ([]byte, error) {
		return append(append(out, c.Request...), c.Request...), nil
	})
	r.mux.Handle(procFail, func(c *rpc.Call, out []byte) ([]byte, error) {
		return out, &rpc.Error{Code: rpc.CodeUser + uint16(len(c.Request)), Text: string(c.Request)}
	})
	return r
}

// device opens a device that is closed at the end.
func (r *rig) device() fabric.Device {
	r.t.Helper()
	d, err := r.set.Open(r.fabric)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = d.Close() })
	return d
}

// freeAddr is where a server can listen.
func freeAddr(t testing.TB, name string) fabric.Addr {
	return map[string]fabric.Addr{
		provider.Loop: {Fabric: provider.Loop, Name: "rfp"},
		provider.Shm:  {Fabric: provider.Shm, Name: filepath.Join(t.TempDir(), "s")},
		provider.TCP:  {Fabric: provider.TCP, Name: "127.0.0.1:0"},
		provider.RDMA: {Fabric: provider.RDMA, Name: "127.0.0.1:0"},
	}[name]
}

// serve starts the server.
func (r *rig) serve(cfg rfp.ServerConfig) *rfp.Server {
	r.t.Helper()
	cfg.Device = r.device()
	if cfg.Serve == nil {
		cfg.Serve = r.mux.Serve
	}
	s, err := rfp.NewServer(cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = s.Close() })
	if r.addr, err = s.Listen(r.listen, fabric.ListenConfig{}); err != nil {
		r.t.Fatal(err)
	}
	r.server = s
	return s
}

// dial connects to the server.
func (r *rig) dial(cfg rfp.ConnConfig) *rfp.Conn {
	r.t.Helper()
	if cfg.Device == nil {
		cfg.Device = r.device()
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := rfp.Dial(ctx, r.addr, cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	return c
}

// request makes the message that calls a procedure.
func request(proc uint16, arg []byte) []byte {
	return append([]byte{byte(proc), byte(proc >> 8)}, arg...)
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

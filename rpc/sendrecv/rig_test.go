package sendrecv_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/faults"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/sendrecv"
	"github.com/remora-kv/remora/test/scale"
)

// fabrics are those that every test of the path runs on.
var fabrics = scale.Fabrics()

// patience is how long tests wait for what must come.
const patience = 2 * time.Minute

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
	server *sendrecv.Server
	device fabric.Device // of the server
	listen fabric.Addr   // where to listen, zero for anywhere
	addr   fabric.Addr
	mux    rpc.Mux
	plan   string // of faults, at both ends
	wraps  []*faults.Device
}

const (
	procEcho uint16 = 1 + iota
	procDouble
	procFail
	procAfter
)

func newRig(t testing.TB, name string) *rig {
	r := &rig{t: t, fabric: name, set: provider.New()}
	r.mux.Handle(procEcho, func(c *rpc.Call, out []byte) ([]byte, error) { return append(out, c.Request...), nil })
	r.mux.Handle(procDouble, func(c *rpc.Call, out []byte) ([]byte, error) {
		return append(append(out, c.Request...), c.Request...), nil
	})
	r.mux.Handle(procFail, func(c *rpc.Call, out []byte) ([]byte, error) {
		return out, &rpc.Error{Code: rpc.CodeUser + uint16(len(c.Request)), Text: string(c.Request)}
	})
	r.mux.Handle(procAfter, func(c *rpc.Call, _ []byte) ([]byte, error) {
		c.After = []byte("behind")
		return c.Request, nil // not appended
	})
	return r
}

// newDevice opens a device that is closed at the end.
func (r *rig) newDevice() fabric.Device {
	r.t.Helper()
	d, err := r.set.Open(r.fabric)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = d.Close() })
	if r.plan == "" {
		return d
	}
	plan, err := faults.ParsePlan(r.plan)
	if err != nil {
		r.t.Fatal(err)
	}
	w := faults.Wrap(d, plan)
	r.wraps = append(r.wraps, w)
	r.t.Cleanup(func() {
		if r.t.Failed() {
			r.t.Log(w.Struck())
		}
	})
	return w
}

// listenAddr is where a server can listen.
func (r *rig) listenAddr() fabric.Addr {
	if r.listen.Name != "" {
		return r.listen
	}
	return map[string]fabric.Addr{
		provider.Loop: {Fabric: provider.Loop, Name: "sendrecv"},
		provider.Shm:  {Fabric: provider.Shm, Name: filepath.Join(r.t.TempDir(), "s")},
		provider.TCP:  {Fabric: provider.TCP, Name: "127.0.0.1:0"},
		provider.RDMA: {Fabric: provider.RDMA, Name: "127.0.0.1:0"},
	}[r.fabric]
}

// serve starts the server.
func (r *rig) serve(cfg sendrecv.ServerConfig) *sendrecv.Server {
	r.t.Helper()
	r.device = r.newDevice()
	cfg.Devices = []fabric.Device{r.device}
	if cfg.Serve == nil {
		cfg.Serve = r.mux.Serve
	}
	s, err := sendrecv.NewServer(cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = s.Close() })
	if r.addr, err = s.Listen(r.device, r.listenAddr(), fabric.ListenConfig{}); err != nil {
		r.t.Fatal(err)
	}
	r.server = s
	return s
}

// tryDial connects to the server.
func (r *rig) tryDial(cfg sendrecv.ConnConfig) (*sendrecv.Conn, error) {
	r.t.Helper()
	if cfg.Device == nil {
		cfg.Device = r.newDevice()
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return sendrecv.Dial(ctx, r.addr, cfg)
}

// dial connects to the server and disconnects at the end.
func (r *rig) dial(cfg sendrecv.ConnConfig) *sendrecv.Conn {
	r.t.Helper()
	c, err := r.tryDial(cfg)
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

// await waits for something that others bring about.
func await(t testing.TB, what string, f func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	timeout := time.After(patience)
	for !f() {
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatalf("still waiting for %s", what)
		}
	}
}

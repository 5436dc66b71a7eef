package herd_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/herd"
	"github.com/remora-kv/remora/test/rpctest"
)

const (
	patience   = rpctest.Patience
	procEcho   = rpctest.Echo
	procDouble = rpctest.Double
	procFail   = rpctest.Fail
	procAfter  = rpctest.After
	procCount  = rpctest.Count
)

var (
	fabrics = rpctest.Fabrics()
	request = rpctest.Request
	await   = rpctest.Await
)

// rig is a server and what is needed to connect to it.
type rig struct {
	*rpctest.Rig
	server *herd.Server
}

// eachFabric runs f on every fabric.
func eachFabric(t *testing.T, f func(t *testing.T, r *rig)) {
	rpctest.EachFabric(t, func(t *testing.T, r *rpctest.Rig) { f(t, &rig{Rig: r}) })
}

func newRig(t testing.TB, name string) *rig { return &rig{Rig: rpctest.New(t, name)} }

// serve starts the server.
func (r *rig) serve(cfg herd.ServerConfig) *herd.Server {
	r.Helper()
	r.Device = r.NewDevice()
	cfg.Devices = []fabric.Device{r.Device}
	if cfg.Serve == nil {
		cfg.Serve = r.Mux.Serve
	}
	s, err := herd.NewServer(cfg)
	r.server = rpctest.Opened(r.Rig, s, err)
	if r.Addr, err = s.Listen(r.Device, r.Listen, fabric.ListenConfig{}); err != nil {
		r.Fatal(err)
	}
	return s
}

// tryDial connects to the server.
func (r *rig) tryDial(cfg herd.ConnConfig) (*herd.Conn, error) {
	r.Helper()
	if cfg.Device == nil {
		cfg.Device = r.NewDevice()
	}
	ctx, cancel := rpctest.Patient()
	defer cancel()
	return herd.Dial(ctx, r.Addr, cfg)
}

// dial connects to the server and disconnects at the end.
func (r *rig) dial(cfg herd.ConnConfig) *herd.Conn {
	r.Helper()
	c, err := r.tryDial(cfg)
	return rpctest.Opened(r.Rig, c, err)
}

// send sends a message; the fabric may need a moment to be done with the one before.
func send(l *herd.CoreConn, c *herd.Conn, msg []byte) error {
	for {
		err := l.Send(1, msg)
		if !errors.Is(err, rpc.ErrWindowFull) || l.Outstanding() >= c.Window() {
			return err
		}
		c.Poll()
	}
}

// call makes one call and returns a copy of its result.
func call(c *herd.Conn, core int, proc uint16, arg []byte) ([]byte, error) {
	l := c.CoreConn(core)
	if err := send(l, c, request(proc, arg)); err != nil {
		return nil, err
	}
	for !l.Ready() {
		if !c.Wait(patience) || c.Err() != nil {
			return nil, errors.Join(errors.New("no result"), c.Err())
		}
	}
	data, err, _ := l.Next()
	return append([]byte(nil), data...), err
}

// sender calls a core by its CoreConn, with hashes that tell nothing.
type sender struct{ *herd.CoreConn }

// Send implements rpctest.Sender.
func (s sender) Send(msg []byte) error { return s.CoreConn.Send(rand.Uint64(), msg) }

// sendersOf returns a sender for every core.
func sendersOf(c *herd.Conn) []rpctest.Sender {
	all := make([]rpctest.Sender, c.Cores())
	for core := range all {
		all[core] = sender{c.CoreConn(core)}
	}
	return all
}

// countUp makes n calls on every core with full windows, and checks that each was
// counted exactly once and in order.
func countUp(c *herd.Conn, which uint32, n, size int) error {
	_, _, err := rpctest.CountUp(c, sendersOf(c), which, n, size)
	return err
}

//go:build rdma && wire

package verbs_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/fabrictest"
)

// TestWire runs on two machines at once, joined by a wire: the same binary on
// both, told by ROCEVM_GUEST which is the server and by ROCEVM_SELF and
// ROCEVM_PEER their addresses. The build tag wire says that there are two:
//
//	rocevm test -guests 2 -tags rdma,wire ./fabric/verbs -run TestWire
func TestWire(t *testing.T) {
	role := os.Getenv("ROCEVM_GUEST")
	if role != "server" && role != "client" {
		t.Fatalf("needs two machines: ROCEVM_GUEST is %q, neither server nor client", role)
	}
	w := newWire(t, role == "server")
	for _, s := range []struct {
		name string
		run  func(t *testing.T, w *wire)
	}{
		{"sides", wireSides},
		{"loss", wireLoss},
		{"kill", wireKill},
		{"link-down", wireLinkDown},
		{"flap", wireFlap},
		{"address", wireAddress},
	} {
		w.meet(t, s.name)
		t.Run(s.name, func(t *testing.T) { s.run(t, w) })
	}
	w.meet(t, "the end")
}

// wire is a plain connection between the two tests, beside what is tested.
type wire struct {
	server bool
	self   string
	in     *json.Decoder
	out    *json.Encoder
}

// newWire connects the tests.
func newWire(t *testing.T, server bool) *wire {
	t.Helper()
	w := &wire{server: server, self: os.Getenv("ROCEVM_SELF")}
	c := w.join(t, "7001")
	w.in, w.out = json.NewDecoder(bufio.NewReader(c)), json.NewEncoder(c)
	return w
}

// join connects the tests at a port; the client tries until the server is
// there.
func (w *wire) join(t *testing.T, port string) net.Conn {
	t.Helper()
	var c net.Conn
	if w.server {
		l, err := net.Listen("tcp", net.JoinHostPort(w.self, port))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		if c, err = l.Accept(); err != nil {
			t.Fatal(err)
		}
	} else {
		to := net.JoinHostPort(os.Getenv("ROCEVM_PEER"), port)
		for tries := 0; ; tries++ {
			var err error
			if c, err = net.DialTimeout("tcp", to, time.Second); err == nil {
				break
			}
			if tries == 600 {
				t.Fatal(err)
			}
			<-time.After(100 * time.Millisecond)
		}
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (w *wire) say(t *testing.T, v any) {
	t.Helper()
	if err := w.out.Encode(v); err != nil {
		t.Fatalf("the other machine does not listen: %v", err)
	}
}

func (w *wire) hear(t *testing.T, v any) {
	t.Helper()
	if err := w.in.Decode(v); err != nil {
		t.Fatalf("the other machine says nothing: %v", err)
	}
}

// meet waits until both are at the same point.
func (w *wire) meet(t *testing.T, where string) {
	t.Helper()
	w.say(t, where)
	var theirs string
	if w.hear(t, &theirs); theirs != where {
		t.Fatalf("this machine is at %q, the other at %q", where, theirs)
	}
}

// connect connects two sides and tells each where the other's memory is.
func (w *wire) connect(t *testing.T, tr fabric.Transport) (*side, fabric.Remote) {
	t.Helper()
	s := mustSide(t)
	if w.server {
		l, err := s.dev.Listen(fabric.Addr{Fabric: "rdma", Name: net.JoinHostPort(w.self, "0")}, fabric.ListenConfig{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		w.say(t, l.Addr().Name)
		if err := s.accept(l, nil); err != nil {
			t.Fatal(err)
		}
	} else {
		var addr string
		w.hear(t, &addr)
		if err := s.dial(addr, tr, nil); err != nil {
			t.Fatal(err)
		}
	}
	var theirs fabric.Remote
	w.say(t, s.mem.Remote())
	w.hear(t, &theirs)
	return s, theirs
}

// wireSides runs the cases for two peers.
func wireSides(t *testing.T, w *wire) {
	d := newDevice(t)
	t.Cleanup(func() { _ = d.Close() })
	role := fabrictest.Client
	if w.server {
		role = fabrictest.Server
	}
	fabrictest.RunSide(t, fabrictest.Side{
		Role: role, Device: d, Control: w.join(t, "7002"),
		Listen: func() fabric.Addr { return fabric.Addr{Fabric: "rdma", Name: net.JoinHostPort(w.self, "0")} },
	})
}

// fill writes bytes that depend on their place.
func fill(b []byte, seed int) {
	for i := range b {
		b[i] = byte(i*7 + i>>8 + seed)
	}
}

// command runs a program of the guest.
func command(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

// wireLoss loses one packet in a hundred, in both directions: everything
// arrives once, in order and whole.
func wireLoss(t *testing.T, w *wire) {
	iface := os.Getenv("ROCEVM_IFACE")
	s, at := w.connect(t, fabric.RC)
	command(t, "modprobe", "sch_netem")
	command(t, "tc", "qdisc", "add", "dev", iface, "root", "netem", "loss", "1%")
	defer command(t, "tc", "qdisc", "del", "dev", iface, "root")
	const n, size = 300, 3000
	if w.server {
		for i := range n {
			if err := s.postRecv(size); err != nil {
				t.Fatal(err)
			}
			c, err := s.next()
			if err != nil || c.Status != fabric.StatusOK {
				t.Fatalf("message %d: %+v, %v", i, c, err)
			}
			good := make([]byte, size)
			if fill(good, i); !bytes.Equal(s.mem.Bytes()[4096:4096+size], good) {
				t.Fatalf("message %d is not what was sent", i)
			}
		}
		w.meet(t, "done")
		return
	}
	for i := range n {
		fill(s.mem.Bytes()[:size], i)
		for _, op := range []fabric.WR{
			{Op: fabric.OpSend, Local: s.mem.Seg(0, size)},
			{Op: fabric.OpWrite, Local: s.mem.Seg(0, size), Remote: at.At(500_000)},
			{Op: fabric.OpRead, Local: s.mem.Seg(10_000, size), Remote: at.At(500_000)},
			{Op: fabric.OpFetchAdd, Local: s.mem.Seg(20_000, 8), Remote: at.At(600_000), Operand: 1},
		} {
			if err := s.run(op); err != nil {
				t.Fatalf("round %d: %v", i, err)
			}
		}
		b := s.mem.Bytes()
		if !bytes.Equal(b[:size], b[10_000:10_000+size]) {
			t.Fatalf("round %d: read other bytes than were written", i)
		}
		if got := binary.NativeEndian.Uint64(b[20_000:]); got != uint64(i) {
			t.Fatalf("round %d: the word was added to %d times", i, got)
		}
	}
	w.meet(t, "done")
}

// wireKill kills a process of the client that is connected to the server.
func wireKill(t *testing.T, w *wire) {
	if !w.server {
		var addr string
		w.hear(t, &addr)
		c := startChild(t, "stay", task{Addr: addr, Transport: fabric.RC})
		c.ready()
		w.meet(t, "connected")
		c.signal(syscall.SIGKILL)
		w.meet(t, "done")
		return
	}
	s := mustSide(t)
	l, err := s.dev.Listen(fabric.Addr{Fabric: "rdma", Name: net.JoinHostPort(w.self, "0")}, fabric.ListenConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	w.say(t, l.Addr().Name)
	if err := s.accept(l, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.postRecv(64); err != nil {
		t.Fatal(err)
	}
	w.meet(t, "connected")
	s.wantBroken(t, fabric.ErrPeerLost)
	w.meet(t, "done")
}

// outage is how long the link is down: longer than it takes to notice.
const outage = 12 * time.Second

// wireLinkDown takes the client's link down: both ends break, and can connect
// again when it is up.
func wireLinkDown(t *testing.T, w *wire) {
	s, _ := w.connect(t, fabric.RC)
	if err := s.postRecv(64); err != nil {
		t.Fatal(err)
	}
	w.meet(t, "connected")
	var up <-chan time.Time
	iface := os.Getenv("ROCEVM_IFACE")
	if !w.server {
		up = time.After(outage)
		command(t, "ip", "link", "set", iface, "down")
	}
	start := s.dev.Clock().Now()
	err := s.until("the end", func() bool { return s.qp.State() == fabric.StateError && len(s.got) == 1 })
	if err == nil {
		t.Logf("noticed after %v: %v", time.Duration(s.dev.Clock().Now()-start), s.qp.Err())
	}
	if err == nil && !errors.Is(s.qp.Err(), fabric.ErrPeerLost) {
		err = fmt.Errorf("the reason is %w", s.qp.Err())
	}
	if err == nil && s.got[0].Status != fabric.StatusFlushed && s.got[0].Status != fabric.StatusPeerLost {
		err = fmt.Errorf("the receive completed as %+v", s.got[0])
	}
	if !w.server {
		<-up
		command(t, "ip", "link", "set", iface, "up")
	}
	if err != nil {
		t.Error(err)
	}
	w.meet(t, "up again")
	again, at := w.connect(t, fabric.RC)
	if !w.server {
		if err := again.run(fabric.WR{Op: fabric.OpWrite, Local: again.mem.Seg(0, 64), Remote: at}); err != nil {
			t.Error(err)
		}
	}
	w.meet(t, "done")
}

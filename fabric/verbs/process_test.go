//go:build rdma

package verbs_test

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/remora-kv/remora/fabric"
)

// Tests that need a real second process start the test binary again with
// childEnv naming one of children, which talks JSON lines on its pipes.
const childEnv = "REMORA_VERBS_TEST_CHILD"

var children = map[string]func(*parent) error{
	"stay":  childStay,
	"leave": childLeave,
	"serve": childServe,
}

func TestMain(m *testing.M) {
	name := os.Getenv(childEnv)
	if name == "" {
		os.Exit(m.Run())
	}
	p := &parent{in: json.NewDecoder(os.Stdin), out: json.NewEncoder(os.Stdout)}
	if err := children[name](p); err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// parent is the test as the child sees it.
type parent struct {
	in  *json.Decoder
	out *json.Encoder
}

// stay keeps the child alive until the test closes its input.
func (p *parent) stay() { _, _ = io.Copy(io.Discard, os.Stdin) }

// task is what a test tells its child.
type task struct {
	Addr      string
	Transport fabric.Transport
	Count     int
}

// answer is what a child says when it is ready.
type answer struct {
	Addr   string
	Remote fabric.Remote
}

type child struct {
	t   *testing.T
	cmd *exec.Cmd
	in  *json.Encoder
	out *json.Decoder
}

func startChild(t *testing.T, name string, k task) *child {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childEnv+"="+name)
	cmd.Stderr = os.Stderr
	w, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{t: t, cmd: cmd, in: json.NewEncoder(w), out: json.NewDecoder(bufio.NewReader(r))}
	t.Cleanup(func() {
		_ = w.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if err := c.in.Encode(k); err != nil {
		t.Fatal(err)
	}
	return c
}

// ready waits for the child's answer.
func (c *child) ready() answer {
	c.t.Helper()
	var a answer
	if err := c.out.Decode(&a); err != nil {
		c.t.Fatalf("the child ended: %v", err)
	}
	return a
}

func (c *child) signal(s syscall.Signal) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(s); err != nil {
		c.t.Fatal(err)
	}
}

// childStay dials, tells where its memory is, and stays.
func childStay(p *parent) error {
	var k task
	if err := p.in.Decode(&k); err != nil {
		return err
	}
	s, err := newSide()
	if err != nil {
		return err
	}
	if err := s.dial(k.Addr, k.Transport, nil); err != nil {
		return err
	}
	if err := p.out.Encode(answer{Remote: s.mem.Remote()}); err != nil {
		return err
	}
	p.stay()
	return nil
}

// childServe listens, accepts and stays.
func childServe(p *parent) error {
	var k task
	if err := p.in.Decode(&k); err != nil {
		return err
	}
	s, err := newSide()
	if err != nil {
		return err
	}
	l, err := s.dev.Listen(fabric.Addr{Fabric: "rdma", Name: "127.0.0.1:0"}, fabric.ListenConfig{})
	if err != nil {
		return err
	}
	if err := p.out.Encode(answer{Addr: l.Addr().Name, Remote: s.mem.Remote()}); err != nil {
		return err
	}
	if err := s.accept(l, nil); err != nil {
		return err
	}
	p.stay()
	return nil
}

// childLeave sends messages, disconnects and exits.
func childLeave(p *parent) error {
	var k task
	if err := p.in.Decode(&k); err != nil {
		return err
	}
	s, err := newSide()
	if err != nil {
		return err
	}
	if err := s.dial(k.Addr, k.Transport, nil); err != nil {
		return err
	}
	for i := range k.Count {
		binary.LittleEndian.PutUint32(s.mem.Bytes(), uint32(i))
		if err := s.run(fabric.WR{Op: fabric.OpSend, Local: s.mem.Seg(0, 4)}); err != nil {
			return err
		}
	}
	return s.qp.Close()
}

// TestKilledPeer kills a dialer with requests of the acceptor in flight.
func TestKilledPeer(t *testing.T) {
	for _, tr := range []fabric.Transport{fabric.RC, fabric.UC} {
		t.Run(tr.String(), func(t *testing.T) {
			s := mustSide(t)
			l := s.listen(t)
			c := startChild(t, "stay", task{Addr: l.Addr().Name, Transport: tr})
			if err := s.accept(l, nil); err != nil {
				t.Fatal(err)
			}
			c.ready()
			want := 1
			if err := s.postRecv(64); err != nil {
				t.Fatal(err)
			}
			if tr == fabric.RC { // waits for a receive that never comes
				wrs := []fabric.WR{
					{Op: fabric.OpSend, Local: s.mem.Seg(0, 64)},
					{Op: fabric.OpWrite, Local: s.mem.Seg(0, 64), Flags: fabric.FlagSignaled},
				}
				if _, err := s.qp.Post(wrs); err != nil {
					t.Fatal(err)
				}
				want += len(wrs)
			}
			c.signal(syscall.SIGKILL)
			s.wantBroken(t, fabric.ErrPeerLost)
			if err := s.until("flushes", func() bool { return len(s.got) == want }); err != nil {
				t.Fatal(err)
			}
			for _, c := range s.got {
				if c.Status != fabric.StatusFlushed && c.Status != fabric.StatusPeerLost {
					t.Errorf("completion %+v, want it lost or flushed", c)
				}
			}
		})
	}
}

// TestKilledServer kills an acceptor.
func TestKilledServer(t *testing.T) {
	c := startChild(t, "serve", task{})
	s := mustSide(t)
	if err := s.dial(c.ready().Addr, fabric.RC, nil); err != nil {
		t.Fatal(err)
	}
	c.signal(syscall.SIGKILL)
	s.wantBroken(t, fabric.ErrPeerLost)
	if err := s.dial("127.0.0.1:1", fabric.RC, nil); !errors.Is(err, fabric.ErrRefused) {
		t.Errorf("dial where nobody is: %v", err)
	}
}

// TestStoppedTarget reads and writes the memory of a process that does not
// run: one-sided operations need nothing of it (G18).
func TestStoppedTarget(t *testing.T) {
	s := mustSide(t)
	l := s.listen(t)
	c := startChild(t, "stay", task{Addr: l.Addr().Name, Transport: fabric.RC})
	if err := s.accept(l, nil); err != nil {
		t.Fatal(err)
	}
	at := c.ready().Remote
	c.signal(syscall.SIGSTOP)
	defer c.signal(syscall.SIGCONT)
	for i := range 50 {
		copy(s.mem.Bytes(), fmt.Sprintf("generation %9d", i))
		for _, w := range []fabric.WR{
			{Op: fabric.OpWrite, Local: s.mem.Seg(0, 20), Remote: at.At(100)},
			{Op: fabric.OpRead, Local: s.mem.Seg(64, 20), Remote: at.At(100)},
			{Op: fabric.OpFetchAdd, Local: s.mem.Seg(128, 8), Remote: at, Operand: 1},
		} {
			if err := s.run(w); err != nil {
				t.Fatalf("round %d: %v", i, err)
			}
		}
		if got := string(s.mem.Bytes()[64:84]); got != fmt.Sprintf("generation %9d", i) {
			t.Fatalf("round %d: read %q", i, got)
		}
		if got := binary.NativeEndian.Uint64(s.mem.Bytes()[128:]); got != uint64(i) {
			t.Fatalf("round %d: the word was %d", i, got)
		}
	}
}

// TestDisconnectOfProcess receives everything from a process that has sent,
// disconnected and exited.
func TestDisconnectOfProcess(t *testing.T) {
	const n = 40
	s := mustSide(t)
	l := s.listen(t)
	c := startChild(t, "leave", task{Addr: l.Addr().Name, Transport: fabric.RC, Count: n})
	if err := s.accept(l, nil); err != nil {
		t.Fatal(err)
	}
	var wrs []fabric.RecvWR
	for i := range n + 2 {
		wrs = append(wrs, fabric.RecvWR{ID: uint64(i), Local: s.mem.Seg(4*i, 4)})
	}
	if _, err := s.qp.PostRecv(wrs); err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Wait(); err != nil {
		t.Fatalf("the child: %v", err)
	}
	if err := s.until("all receives", func() bool { return len(s.got) == n+2 }); err != nil {
		t.Fatal(err)
	}
	for i, c := range s.got {
		want := fabric.StatusOK
		if i >= n {
			want = fabric.StatusFlushed
		}
		if c.Status != want || c.ID != uint64(i) {
			t.Fatalf("receive %d completed as %+v, want %v", i, c, want)
		}
		if got := binary.LittleEndian.Uint32(s.mem.Bytes()[4*i:]); i < n && got != uint32(i) {
			t.Fatalf("message %d says %d", i, got)
		}
	}
	s.wantBroken(t, fabric.ErrDisconnected)
}

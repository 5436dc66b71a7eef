package shm

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/test/scale"
)

// Tests that need a real second process start the test binary again with
// childEnv naming one of children, which talks JSON lines on its pipes.
const childEnv = "REMORA_SHM_TEST_CHILD"

var children = map[string]func(*parent) error{
	"connect":  childConnect,
	"gram":     childGram,
	"hostile":  childHostile,
	"impostor": childImpostor,
	"serve":    childServe,
	"write":    childWrite,
}

func TestMain(m *testing.M) {
	name := os.Getenv(childEnv)
	if name == "" {
		os.Exit(m.Run())
	}
	p := &parent{in: json.NewDecoder(os.Stdin), out: json.NewEncoder(os.Stdout)}
	if err := children[name](p); err != nil {
		fmt.Fprintln(os.Stderr, err)
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
	Path   string
	Remote fabric.Remote
	Other  fabric.Remote
	Count  int
}

// answer is what a child says: a list of findings, empty when all is well.
type answer struct {
	Ready     bool
	Forbidden bool
	Findings  []string
}

// child is the second process as the test sees it.
type child struct {
	t   *testing.T
	cmd *exec.Cmd
	in  *json.Encoder
	w   io.WriteCloser
	out *json.Decoder
}

func startChild(t *testing.T, name string, attr *syscall.SysProcAttr) *child {
	t.Helper()
	exe := testBinary(t)
	cmd := scale.Again(context.Background(), exe)
	cmd.Env = append(os.Environ(), childEnv+"="+name)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = attr
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
	c := &child{t: t, cmd: cmd, in: json.NewEncoder(w), w: w, out: json.NewDecoder(bufio.NewReader(r))}
	t.Cleanup(func() {
		_ = w.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return c
}

// testBinary returns a copy of this binary that any user may run.
func testBinary(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if os.Getuid() != 0 {
		return exe
	}
	dir := publicDir(t)
	b, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, "child")
	if err := os.WriteFile(to, b, 0o755); err != nil {
		t.Fatal(err)
	}
	return to
}

// publicDir makes a directory that every user can enter; t.TempDir is private
// to this one.
func publicDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "remora-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func (c *child) tell(k task) {
	c.t.Helper()
	if err := c.in.Encode(k); err != nil {
		c.t.Fatal(err)
	}
}

// hear waits for the child's answer.
func (c *child) hear() answer {
	c.t.Helper()
	var a answer
	if err := c.out.Decode(&a); err != nil {
		c.t.Fatalf("the child said nothing: %v", err)
	}
	return a
}

func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

// side is a device with what a connection needs.
type side struct {
	dev *Device
	dom fabric.Domain
	cq  fabric.CQ
	wtr fabric.Waiter
	qp  fabric.QP
}

func newSide() (*side, error) {
	d, err := New(Config{})
	if err != nil {
		return nil, err
	}
	s := &side{dev: d}
	if s.dom, err = d.NewDomain(); err != nil {
		return nil, err
	}
	if s.cq, err = d.NewCQ(4096); err != nil {
		return nil, err
	}
	s.wtr, err = d.NewWaiter(fabric.WaitConfig{CQs: []fabric.CQ{s.cq}})
	return s, err
}

func mustSide(t *testing.T) *side {
	t.Helper()
	s, err := newSide()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.dev.Close() })
	return s
}

func (s *side) config() fabric.QPConfig {
	return fabric.QPConfig{Transport: fabric.RC, Domain: s.dom, SendCQ: s.cq, RecvCQ: s.cq, RNRTimeout: fabric.RNRForever}
}

// dial connects to a server, which may be one of the users that are trusted.
func (s *side) dial(path string, trusted ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	addr := fabric.Addr{Fabric: "shm", Name: path, Options: url.Values{}}
	if len(trusted) != 0 {
		addr.Options[UserOption] = trusted
	}
	qp, err := s.dev.Dial(ctx, addr, s.config(), nil)
	s.qp = qp
	return err
}

// accept takes the next connection of a listener.
func (s *side) accept(l fabric.Listener, private []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := l.Accept(ctx)
	if err != nil {
		return err
	}
	s.qp, err = r.Accept(ctx, s.config(), private)
	return err
}

// run posts a request and waits for its completion.
func (s *side) run(wr fabric.WR) (fabric.Completion, error) {
	wr.Flags |= fabric.FlagSignaled
	if _, err := s.qp.Post([]fabric.WR{wr}); err != nil {
		return fabric.Completion{}, err
	}
	return s.next()
}

// next waits for a completion.
func (s *side) next() (fabric.Completion, error) {
	var out [1]fabric.Completion
	if !s.wtr.Wait(func() bool { return s.cq.Poll(out[:]) == 1 }, patience) {
		return out[0], fmt.Errorf("no completion; the queue pair says: %w", s.qp.Err())
	}
	return out[0], nil
}

// patience is the timeout of everything that happens at once.
const patience = 2 * time.Minute

func listen(t *testing.T, s *side, cfg fabric.ListenConfig) fabric.Listener {
	t.Helper()
	dir := publicDir(t)
	l, err := s.dev.Listen(fabric.Addr{Fabric: "shm", Name: filepath.Join(dir, "sock")}, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func mustAlloc(t *testing.T, s *side, size int, access fabric.Access) *fabric.Region {
	t.Helper()
	r, err := s.dom.Alloc("test", size, access)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// eventually waits for something that another goroutine brings about.
func eventually(t *testing.T, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !cond(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("it did not come about")
		}
	}
}

package shm

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
)

// childConnect connects, exchanges a message and stays until it is killed.
func childConnect(p *parent) error {
	var k task
	if err := p.in.Decode(&k); err != nil {
		return err
	}
	s, err := newSide()
	if err != nil {
		return err
	}
	if err := s.dial(k.Path); err != nil {
		return p.out.Encode(answer{Forbidden: errors.Is(err, fs.ErrPermission), Findings: []string{err.Error()}})
	}
	if err := p.out.Encode(answer{Ready: true}); err != nil {
		return err
	}
	p.stay()
	return nil
}

// childServe listens, accepts and stays. It may open a limited number of files.
func childServe(p *parent) error {
	var k task
	if err := p.in.Decode(&k); err != nil {
		return err
	}
	if n := uint64(k.Count); n != 0 {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: n, Max: n}); err != nil {
			return err
		}
	}
	s, err := newSide()
	if err != nil {
		return err
	}
	l, err := s.dev.Listen(fabric.Addr{Fabric: "shm", Name: k.Path}, fabric.ListenConfig{HandshakeTimeout: patience})
	if err != nil {
		return err
	}
	if err := p.out.Encode(answer{Ready: true}); err != nil {
		return err
	}
	if err := s.accept(l, nil); err != nil {
		return err
	}
	p.stay()
	return nil
}

// childWrite WRITEs generations over a region of the test, each after the test
// has acknowledged the one before in the first word.
func childWrite(p *parent) error {
	var k task
	if err := p.in.Decode(&k); err != nil {
		return err
	}
	s, err := newSide()
	if err != nil {
		return err
	}
	if err := s.dial(k.Path); err != nil {
		return err
	}
	buf, err := s.dom.Alloc("buf", 8192, 0)
	if err != nil {
		return err
	}
	for gen := 1; gen <= k.Count; gen++ {
		n := writeSizes[gen%len(writeSizes)]
		b := buf.Bytes()[:n]
		for i := range b {
			b[i] = mark(gen)
		}
		c, err := s.run(fabric.WR{Op: fabric.OpWrite, Local: buf.Seg(0, n), Remote: k.Remote.At(64 + gen%8)})
		if err != nil {
			return err
		}
		if c.Status != fabric.StatusOK {
			return c.Err()
		}
		for got := 0; got != gen; {
			if c, err = s.run(fabric.WR{Op: fabric.OpRead, Local: buf.Seg(4096, 8), Remote: k.Remote}); err != nil {
				return err
			}
			if c.Status != fabric.StatusOK {
				return c.Err()
			}
			got = int(buf.Bytes()[4096]) | int(buf.Bytes()[4097])<<8 | int(buf.Bytes()[4098])<<16
		}
	}
	return p.out.Encode(answer{Ready: true})
}

// mark is what the bytes of a generation are; never 0, which is cleared memory.
func mark(gen int) byte { return byte(gen%255 + 1) }

var writeSizes = []int{1, 2, 7, 8, 9, 63, 64, 65, 100, 511, 1000, 4000}

// TestLastByteLast hammers G2 between two processes.
func TestLastByteLast(t *testing.T) {
	const count = 10_000
	srv := mustSide(t)
	r := mustAlloc(t, srv, 8192, fabric.RemoteRead|fabric.RemoteWrite)
	l := listen(t, srv, fabric.ListenConfig{})
	c := startChild(t, "write", nil)
	c.tell(task{Path: l.Addr().Name, Remote: r.Remote(), Count: count})
	if err := srv.accept(l, nil); err != nil {
		t.Fatal(err)
	}
	// Busy: a WRITE wakes nobody (G17).
	watch, err := srv.dev.NewWaiter(fabric.WaitConfig{Policy: fabric.Busy})
	if err != nil {
		t.Fatal(err)
	}
	ack := firstWord(r.Bytes())
	snap := make([]byte, 4000)
	for gen := 1; gen <= count; gen++ {
		n, off := writeSizes[gen%len(writeSizes)], 64+gen%8
		last := &r.Bytes()[off+n-1]
		if !watch.Wait(func() bool { return fence.ObserveByte(last) == mark(gen) }, patience) {
			t.Fatalf("generation %d never arrived: %v", gen, srv.qp.Err())
		}
		fence.CopyIn(snap[:n], r.Bytes()[off:off+n])
		for i, b := range snap[:n] {
			if b != mark(gen) {
				t.Fatalf("generation %d of %d bytes: last byte there, byte %d is %d", gen, n, i, b)
			}
		}
		clear(r.Bytes()[off : off+n])
		fence.Publish64(ack, uint64(gen))
	}
	if !c.hear().Ready {
		t.Error("the writer failed")
	}
	_ = srv.qp.Close()
}

// TestKilledClient kills a client of another process in the middle of
// everything: the server notices, and gets all back.
func TestKilledClient(t *testing.T) {
	srv := mustSide(t)
	l := listen(t, srv, fabric.ListenConfig{})
	before := resources(t)
	for range 5 {
		c := startChild(t, "connect", nil)
		c.tell(task{Path: l.Addr().Name})
		if err := srv.accept(l, nil); err != nil {
			t.Fatal(err)
		}
		c.hear()
		if _, err := srv.qp.PostRecv(make([]fabric.RecvWR, 3)); err != nil {
			t.Fatal(err)
		}
		c.kill()
		for range 3 {
			got, err := srv.next()
			if err != nil {
				t.Fatal(err)
			}
			if got.Status != fabric.StatusFlushed {
				t.Errorf("a receive ended with %v", got.Status)
			}
		}
		if !errors.Is(srv.qp.Err(), fabric.ErrPeerLost) {
			t.Errorf("the queue pair says %v", srv.qp.Err())
		}
		if err := srv.qp.Close(); err != nil {
			t.Fatal(err)
		}
		_ = c.w.Close()
	}
	if after := resources(t); after > before+2 {
		t.Errorf("%d descriptors and memory files before, %d after", before, after)
	}
	if n := memoryFor(srv.dev, "segment"); n != 0 {
		t.Errorf("%d bytes of segments are left", n)
	}
}

// resources counts descriptors and mapped memory files of this process.
func resources(t *testing.T) int {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return len(fds) + strings.Count(string(maps), "memfd:")
}

// TestKilledServer kills a server: the client's requests end, and a new server
// takes the place of the dead one's socket.
func TestKilledServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sock")
	serve := func() *child {
		c := startChild(t, "serve", nil)
		c.tell(task{Path: path})
		c.hear()
		return c
	}
	for range 3 {
		srv := serve()
		cli := mustSide(t)
		if err := cli.dial(path); err != nil {
			t.Fatal(err)
		}
		// A SEND for which the server never posts a receive is under way.
		if _, err := cli.qp.Post([]fabric.WR{{ID: 1, Op: fabric.OpSend}, {ID: 2, Op: fabric.OpSend}}); err != nil {
			t.Fatal(err)
		}
		srv.kill()
		for i, want := range []fabric.Status{fabric.StatusPeerLost, fabric.StatusFlushed} {
			c, err := cli.next()
			if err != nil {
				t.Fatal(err)
			}
			if c.ID != uint64(i+1) || c.Status != want {
				t.Errorf("request %d ended with %v, want %v", c.ID, c.Status, want)
			}
		}
		if !errors.Is(cli.qp.Err(), fabric.ErrPeerLost) {
			t.Errorf("the queue pair says %v", cli.qp.Err())
		}
		if err := cli.qp.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSocketFile covers the life of the socket file.
func TestSocketFile(t *testing.T) {
	s := mustSide(t)
	path := filepath.Join(t.TempDir(), "sock")
	addr := fabric.Addr{Fabric: "shm", Name: path}
	l, err := s.dev.Listen(addr, fabric.ListenConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket file has mode %v: %v", info.Mode(), err)
	}
	if _, err := s.dev.Listen(addr, fabric.ListenConfig{}); err == nil || !strings.Contains(err.Error(), "live server") {
		t.Errorf("a second listener: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(path + "*"); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	if err := os.WriteFile(path, []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := s.dev.Listen(addr, fabric.ListenConfig{}); err == nil || !strings.Contains(err.Error(), "not a socket") {
		t.Errorf("over a file: %v", err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "precious" {
		t.Errorf("the file is now %q: %v", b, err)
	}
}

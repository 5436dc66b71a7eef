package shm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
)

// TestHostileClient gives a real second process a connection and the names of
// two regions: one that it may read, one of another client. The child speaks
// the control protocol by hand and tries whatever the descriptors allow.
func TestHostileClient(t *testing.T) {
	srv := mustSide(t)
	readOnly := mustAlloc(t, srv, 10000, fabric.RemoteRead)
	copy(readOnly.Bytes(), "the truth")
	other, err := srv.dev.NewDomain()
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := other.Alloc("of another client", 4096, fabric.RemoteRead|fabric.RemoteWrite)
	if err != nil {
		t.Fatal(err)
	}
	l := listen(t, srv, fabric.ListenConfig{})
	c := startChild(t, "hostile", nil)
	c.tell(task{Path: l.Addr().Name, Remote: readOnly.Remote(), Other: foreign.Remote()})
	if err := srv.accept(l, nil); err != nil {
		t.Fatal(err)
	}
	for _, f := range c.hear().Findings {
		t.Error(f)
	}
	if got := string(readOnly.Bytes()[:9]); got != "the truth" {
		t.Errorf("the read-only region now says %q", got)
	}
	if srv.qp.State() != fabric.StateReady {
		t.Fatalf("the connection ended: %v", srv.qp.Err())
	}
	// The child then scribbles all over the segment and its size is still
	// what it was: the server finds the lie and cuts it off.
	c.tell(task{})
	c.hear()
	if _, err := srv.qp.PostRecv(make([]fabric.RecvWR, 4)); err != nil {
		t.Fatal(err)
	}
	if _, err := srv.next(); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(srv.qp.Err(), fabric.ErrProtocol) {
		t.Errorf("after scribbling the server says %v", srv.qp.Err())
	}
	if err := srv.qp.Close(); err != nil {
		t.Error(err)
	}
}

// childHostile is the other side of TestHostileClient.
func childHostile(p *parent) error {
	var k task
	if err := p.in.Decode(&k); err != nil {
		return err
	}
	h, err := newHostile(k.Path)
	if err != nil {
		return err
	}
	h.attackRegion("segment", h.segment, true)
	if fd, ok := h.ask(k.Remote.Key); ok {
		h.attackRegion("read-only region", fd, false)
	} else {
		h.find("the server did not grant a key of the connection's own domain")
	}
	if _, ok := h.ask(k.Other.Key); ok {
		h.find("the server handed out a region of another domain")
	}
	for i := range uint32(64) {
		if _, ok := h.ask(k.Other.Key&0xfff | i<<20); ok && k.Other.Key&0xfff|i<<20 != k.Remote.Key {
			h.find("the server granted the guessed key %#x", k.Other.Key&0xfff|i<<20)
		}
	}
	if err := p.out.Encode(answer{Findings: h.findings}); err != nil {
		return err
	}
	if err := p.in.Decode(&k); err != nil {
		return err
	}
	mem, err := unix.Mmap(h.segment, 0, 1<<16, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	for i := range mem {
		mem[i] = byte(i*7 + 1)
	}
	if err := p.out.Encode(answer{Ready: true}); err != nil {
		return err
	}
	p.stay()
	return nil
}

// hostile speaks the control protocol and keeps the descriptors it gets.
type hostile struct {
	sock     socket
	segment  int
	findings []string
}

func newHostile(path string) (*hostile, error) {
	s, err := dialSocket(context.Background(), path)
	if err != nil {
		return nil, err
	}
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	h := hello{transport: fabric.RC, depth: 16}
	if err := s.send(h.encode(), pipe[1], pipe[1]); err != nil {
		return nil, err
	}
	p, err := s.recv()
	if err != nil {
		return nil, err
	}
	if p.data[0] != kindAccept || len(p.fds) != 3 {
		return nil, fmt.Errorf("no accept but %q", p.data)
	}
	return &hostile{sock: s, segment: p.fds[0]}, nil
}

func (h *hostile) find(format string, args ...any) {
	h.findings = append(h.findings, fmt.Sprintf(format, args...))
}

// ask wants the descriptor behind a key.
func (h *hostile) ask(key uint32) (fd int, ok bool) {
	if err := h.sock.send(encodeKey(kindMap, key)); err != nil {
		h.find("asking for %#x: %v", key, err)
		return -1, false
	}
	p, err := h.sock.recv()
	if err != nil || p.data[0] != kindMapped {
		h.find("asking for %#x: %v", key, err)
		return -1, false
	}
	if len(p.fds) == 0 {
		return -1, false
	}
	return p.fds[0], true
}

// attackRegion tries everything that would let a client write where it may
// only read, or pull memory from under the server.
func (h *hostile) attackRegion(what string, fd int, mayWrite bool) {
	for _, size := range []int64{0, 1, 1 << 30} {
		if err := unix.Ftruncate(fd, size); err == nil {
			h.find("%s: truncated to %d", what, size)
		}
	}
	if mayWrite {
		return
	}
	try := func(how string, fd int) {
		if _, err := unix.Mmap(fd, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err == nil {
			h.find("%s: %s: mapped writable", what, how)
		}
		if _, err := unix.Pwrite(fd, []byte("a lie"), 0); err == nil {
			h.find("%s: %s: written by write", what, how)
		}
		if err := unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, 4096); err == nil {
			h.find("%s: %s: hole punched", what, how)
		}
	}
	try("descriptor", fd)
	if again, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), os.O_RDWR, 0); err == nil {
		try("reopened", again)
	}
	mem, err := unix.Mmap(fd, 0, 4096, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		h.find("%s: not even readable: %v", what, err)
		return
	}
	if err := unix.Mprotect(mem, unix.PROT_READ|unix.PROT_WRITE); err == nil {
		h.find("%s: made writable after mapping", what)
	}
}

// TestGarbageOnControlSocket sends what no Remora would send, before and after
// the handshake; the listener and others go on.
func TestGarbageOnControlSocket(t *testing.T) {
	srv := mustSide(t)
	l := listen(t, srv, fabric.ListenConfig{})
	good := hello{transport: fabric.RC, depth: 16}
	wrongVersion := good.encode()
	wrongVersion[5]++
	tooDeep := hello{transport: fabric.RC, depth: 1 << 30}
	badTransport := hello{transport: 77, depth: 16}
	for name, msg := range map[string][]byte{
		"one byte": {kindHello}, "text": []byte("GET / HTTP/1.1\r\n\r\n"), "version": wrongVersion,
		"depth": tooDeep.encode(), "transport": badTransport.encode(), "no descriptors": good.encode(),
		"long": append(good.encode(), make([]byte, 900)...), "longer than a packet": make([]byte, 5000),
		"wrong kind": encodeKey(kindMap, 1),
	} {
		t.Run(name, func(t *testing.T) {
			s, err := dialSocket(context.Background(), l.Addr().Name)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.c.Close() }()
			if err := s.send(msg); err != nil {
				t.Fatal(err)
			}
			p, err := s.recv()
			if err != nil {
				t.Fatal(err)
			}
			if p.data[0] != kindRefuse || len(p.data) < 10 {
				t.Errorf("the answer is %q, not a refusal with a reason", p.data)
			}
		})
	}
	cli := mustSide(t)
	done := make(chan error, 1)
	go func() { done <- srv.accept(l, nil) }()
	if err := cli.dial(l.Addr().Name); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// TestGarbageAfterHandshake cuts off exactly the peer that breaks the rules.
func TestGarbageAfterHandshake(t *testing.T) {
	for name, msg := range map[string][]byte{
		"unknown kind": {200}, "short map": {kindMap}, "long map": make([]byte, 300),
		"mapped without file": (&mapped{key: 5, access: fabric.RemoteRead, size: 1}).encode(),
		"huge mapped":         (&mapped{key: 5, access: fabric.RemoteRead, size: 1 << 60}).encode(),
	} {
		t.Run(name, func(t *testing.T) {
			srv := mustSide(t)
			l := listen(t, srv, fabric.ListenConfig{})
			hs := make(chan *hostile, 1)
			go func() {
				h, err := newHostile(l.Addr().Name)
				if err != nil {
					t.Error(err)
				}
				hs <- h
			}()
			if err := srv.accept(l, nil); err != nil {
				t.Fatal(err)
			}
			h := <-hs
			if name == "long map" {
				msg[0] = kindMap
			}
			if err := h.sock.send(msg); err != nil {
				t.Fatal(err)
			}
			<-srv.qp.Done()
			if !errors.Is(srv.qp.Err(), fabric.ErrProtocol) {
				t.Errorf("the connection ended with %v", srv.qp.Err())
			}
			_ = srv.qp.Close()
		})
	}
}

// TestFlood asks for keys without reading the answers, and for keys that are
// not granted: both end with the peer cut off and nothing else.
func TestFlood(t *testing.T) {
	srv := mustSide(t)
	l := listen(t, srv, fabric.ListenConfig{})
	hs := make(chan *hostile, 1)
	go func() {
		h, err := newHostile(l.Addr().Name)
		if err != nil {
			t.Error(err)
		}
		hs <- h
	}()
	if err := srv.accept(l, nil); err != nil {
		t.Fatal(err)
	}
	h := <-hs
	for srv.qp.State() == fabric.StateReady {
		_ = h.sock.send(encodeKey(kindMap, 0xdead))
	}
	if err := srv.qp.Err(); !errors.Is(err, fabric.ErrProtocol) && !errors.Is(err, fabric.ErrPeerLost) {
		t.Errorf("the flood ended with %v", err)
	}
	_ = srv.qp.Close()
}

// TestBlockingPipe wakes by a pipe that a peer made to block, and one that is no
// pipe at all (I5).
func TestBlockingPipe(t *testing.T) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	defer closeFDs(p[:])
	for range 200 { // more than the pipe holds; a blocking write would hang
		peerPipe{p[1]}.Wake()
	}
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	peerPipe{int(f.Fd())}.Wake()
	peerPipe{-1}.Wake()
	if info, err := f.Stat(); err != nil || info.Size() != 0 {
		t.Errorf("ringing wrote %d bytes to a file", info.Size())
	}
}

// TestDescriptorsOfStrangers sends descriptors where none are wanted: with an
// empty packet, and to the listener for datagrams. None may stay open.
func TestDescriptorsOfStrangers(t *testing.T) {
	srv := mustSide(t)
	l := listen(t, srv, fabric.ListenConfig{})
	cfg := srv.config()
	cfg.Transport = fabric.UD
	ud, err := srv.dom.NewUD(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ud.Close() }()
	addr := ud.Address()
	grams := string(addr[len(gramAddressHead)+12 : len(addr)-gramAddressSum])
	before := resources(t)
	for _, path := range []string{l.Addr().Name, grams} {
		for _, msg := range [][]byte{{}, {200}, {kindHello}} {
			for range 20 {
				s, err := dialSocket(context.Background(), path)
				if err != nil {
					t.Fatal(err)
				}
				if err := s.send(msg, 0, 1, 2); err != nil {
					t.Fatal(err)
				}
				_, _ = s.recv() // a refusal, or the end
				_ = s.c.Close()
			}
		}
	}
	eventually(t, func() bool { return resources(t) <= before })
}

// TestUnsolicitedRegions gives regions that nobody asked for: they are not
// mapped, and the giver is cut off.
func TestUnsolicitedRegions(t *testing.T) {
	srv := mustSide(t)
	l := listen(t, srv, fabric.ListenConfig{})
	hs := make(chan *hostile, 1)
	go func() {
		h, err := newHostile(l.Addr().Name)
		if err != nil {
			t.Error(err)
		}
		hs <- h
	}()
	if err := srv.accept(l, nil); err != nil {
		t.Fatal(err)
	}
	h := <-hs
	m := mapped{key: 1 << 20, access: fabric.RemoteRead, addr: 1 << 40, size: 4096}
	if err := h.sock.send(m.encode(), h.segment); err != nil {
		t.Fatal(err)
	}
	<-srv.qp.Done()
	if !errors.Is(srv.qp.Err(), fabric.ErrProtocol) {
		t.Errorf("the connection ended with %v", srv.qp.Err())
	}
	if n := memoryFor(srv.dev, "window"); n != 0 {
		t.Errorf("%d bytes of windows are mapped", n)
	}
	_ = srv.qp.Close()
}

// memoryFor returns how many bytes a device has for a purpose.
func memoryFor(dev fabric.Device, purpose string) (n int64) {
	for _, u := range dev.Memory() {
		if u.Purpose == purpose {
			n += u.Bytes
		}
	}
	return n
}

// TestSilentClients floods the listener with connections that say nothing and stay; clients of
// this process and of another still get in, and the oldest silent ones are closed and reported.
func TestSilentClients(t *testing.T) {
	srv := mustSide(t)
	const flood = 600
	reports := make(chan error, flood)
	l := listen(t, srv, fabric.ListenConfig{Backlog: 8, HandshakeTimeout: patience, Report: func(err error) { reports <- err }})
	for range flood {
		s, err := dialSocket(context.Background(), l.Addr().Name)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.c.Close() }()
	}
	c := startChild(t, "connect", nil)
	c.tell(task{Path: l.Addr().Name})
	if err := srv.accept(l, nil); err != nil {
		t.Fatal(err)
	}
	if a := c.hear(); !a.Ready {
		t.Errorf("the client says %v", a.Findings)
	}
	_ = srv.qp.Close()
	cli := mustSide(t)
	done := make(chan error, 1)
	go func() { done <- srv.accept(l, nil) }()
	if err := errors.Join(cli.dial(l.Addr().Name), <-done); err != nil {
		t.Fatal(err)
	}
	if err := <-reports; !errors.Is(err, base.ErrCrowded) || !strings.Contains(err.Error(), "pid ") {
		t.Errorf("reported: %v", err)
	}
	_ = srv.qp.Close()
}

// TestSilentClientsLeaveFiles floods a listener whose process cannot open as many files.
func TestSilentClientsLeaveFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sock")
	srv := startChild(t, "serve", nil)
	srv.tell(task{Path: path, Count: 100})
	srv.hear()
	for range 200 {
		s, err := dialSocket(context.Background(), path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.c.Close() }()
	}
	cli := mustSide(t)
	if err := cli.dial(path); err != nil {
		t.Fatal(err)
	}
	_ = cli.qp.Close()
}

// TestManySenders has a process take as many ways to a datagram queue pair as it gets: no more
// than a bounded number, and other queue pairs do not suffer.
func TestManySenders(t *testing.T) {
	srv := mustSide(t)
	cfg := srv.config()
	cfg.Transport = fabric.UD
	var uds [2]fabric.QP
	for i := range uds {
		var err error
		if uds[i], err = srv.dom.NewUD(cfg); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = uds[i].Close() }()
	}
	cli := mustSide(t)
	open := func(to fabric.QP) (fabric.AddressHandle, error) {
		return cli.dom.NewAddressHandle(t.Context(), to.Address())
	}
	var last fabric.AddressHandle
	for i := range maxGramRingsOfPeer {
		h, err := open(uds[0])
		if err != nil {
			t.Fatalf("handle %d: %v", i, err)
		}
		defer func() { _ = h.Close() }()
		last = h
	}
	if _, err := open(uds[0]); err == nil || !strings.Contains(err.Error(), "256 rings") {
		t.Errorf("one more handle: %v", err)
	}
	other, err := open(uds[1])
	if err != nil {
		t.Fatalf("a handle for another queue pair: %v", err)
	}
	_ = other.Close()
	_ = last.Close()
	// The receiver takes the end of a ring when it polls.
	eventually(t, func() bool {
		srv.cq.Poll(make([]fabric.Completion, 1))
		h, err := open(uds[0])
		if err == nil {
			_ = h.Close()
		}
		return err == nil
	})
}

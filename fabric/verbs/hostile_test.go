//go:build rdma

package verbs

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
)

// host is a device with a listener and what a queue pair needs.
type host struct {
	t   *testing.T
	dev *Device
	dom fabric.Domain
	cq  fabric.CQ
}

func newHost(t *testing.T) *host {
	t.Helper()
	d, err := New(Config{Device: os.Getenv("REMORA_RDMA_DEVICE")})
	if err != nil {
		t.Fatal(err)
	}
	s := &host{t: t, dev: d}
	t.Cleanup(func() { _ = d.Close() })
	if s.dom, err = d.NewDomain(); err != nil {
		t.Fatal(err)
	}
	if s.cq, err = d.NewCQ(4096); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *host) config() fabric.QPConfig {
	return fabric.QPConfig{Domain: s.dom, SendCQ: s.cq, RecvCQ: s.cq, SendDepth: 8, RecvDepth: 8}
}

func (s *host) listen(timeout time.Duration) fabric.Listener {
	s.t.Helper()
	l, err := s.dev.Listen(fabric.Addr{Fabric: "rdma", Name: "127.0.0.1:0"}, fabric.ListenConfig{HandshakeTimeout: timeout})
	if err != nil {
		s.t.Fatal(err)
	}
	return l
}

// connect makes a connection of two hosts and returns both ends.
func connect(t *testing.T, a, b *host, l fabric.Listener) (qa, qb *QP) {
	t.Helper()
	ctx := t.Context()
	type result struct {
		qp  fabric.QP
		err error
	}
	accepted := make(chan result, 1)
	go func() {
		r, err := l.Accept(ctx)
		if err != nil {
			accepted <- result{err: err}
			return
		}
		qp, err := r.Accept(ctx, a.config(), nil)
		accepted <- result{qp, err}
	}()
	qp, err := b.dev.Dial(ctx, l.Addr(), b.config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := <-accepted
	if got.err != nil {
		t.Fatal(got.err)
	}
	return got.qp.(*QP), qp.(*QP) //lint:ignore errcheck they are of this package
}

// TestHostileHello sends a listener what is no hello; it goes on.
func TestHostileHello(t *testing.T) {
	a, b := newHost(t), newHost(t)
	l := a.listen(300 * time.Millisecond)
	good := sampleHello()
	wrongVersion := good.encode()
	wrongVersion[4] = 77
	for what, bytes := range map[string][]byte{
		"nothing":        {},
		"half a header":  {1},
		"a huge message": {0xff, 0xff, 1, 0, 0},
		"http":           []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		"ready first":    appendMessage(nil, kindReady, nil),
		"empty hello":    appendMessage(nil, kindHello, nil),
		"version 77":     appendMessage(nil, kindHello, wrongVersion),
		"cut hello":      appendMessage(nil, kindHello, good.encode())[:30],
	} {
		c, err := net.Dial("tcp", l.Addr().Name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write(bytes); err != nil {
			t.Fatal(err)
		}
		_ = c.SetReadDeadline(base.Until(5 * time.Second))
		answer, err := io.ReadAll(c)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: the listener keeps the connection", what)
		}
		if what == "version 77" && !strings.Contains(string(answer), "version") {
			t.Errorf("%s: answered %q", what, answer)
		}
		_ = c.Close()
	}
	qa, qb := connect(t, a, b, l)
	if qa.State() != fabric.StateReady || qb.State() != fabric.StateReady {
		t.Errorf("after the wrong hellos: %v, %v", qa.Err(), qb.Err())
	}
}

// TestHostileDialer accepts a request whose maker then breaks the rules.
func TestHostileDialer(t *testing.T) {
	a := newHost(t)
	l := a.listen(300 * time.Millisecond)
	for what, then := range map[string][]byte{
		"silence": nil,
		"counts":  appendMessage(nil, kindCounts, (&counts{}).append(nil)),
		"garbage": []byte("garbage garbage garbage"),
	} {
		c, err := net.Dial("tcp", l.Addr().Name)
		if err != nil {
			t.Fatal(err)
		}
		h := sampleHello()
		h.transport = fabric.RC
		h.end.gid = a.dev.adapter.Load().choice.GID.Addr.As16()
		h.end.ethernet = a.dev.adapter.Load().port.ethernet
		if _, err := c.Write(append(appendMessage(nil, kindHello, h.encode()), then...)); err != nil {
			t.Fatal(err)
		}
		r, err := l.Accept(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if qp, err := r.Accept(t.Context(), a.config(), nil); !errors.Is(err, fabric.ErrPeerLost) {
			t.Errorf("%s: Accept returned %v, %v", what, qp, err)
		}
		_ = c.Close()
	}
}

// TestHostileControl has a connected peer break the rules of the control
// connection.
func TestHostileControl(t *testing.T) {
	a, b := newHost(t), newHost(t)
	l := a.listen(0)
	for what, bytes := range map[string][]byte{
		"a huge message": {0xff, 0xff, 6},
		"kind 0":         appendMessage(nil, 0, nil),
		"a hello":        appendMessage(nil, kindHello, nil),
		"short counts":   appendMessage(nil, kindCounts, []byte{1}),
		"long ask":       appendMessage(nil, kindAsk, []byte{1}),
		"a long bye":     appendMessage(nil, kindBye, []byte{0, 0}),
	} {
		qa, qb := connect(t, a, b, l)
		if _, err := qb.control.c.Write(bytes); err != nil {
			t.Fatal(err)
		}
		<-qa.Done()
		if err := qa.Err(); !errors.Is(err, fabric.ErrProtocol) {
			t.Errorf("%s: Err is %v", what, err)
		}
		<-qb.Done()
		if err := errors.Join(qa.Close(), qb.Close()); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	// Lies about counts are lies about counts.
	qa, qb := connect(t, a, b, l)
	var c counts
	for i := range c.ops {
		c.ops[i] = 1 << 63
	}
	if _, err := qb.control.c.Write(appendMessage(nil, kindCounts, c.append(nil))); err != nil {
		t.Fatal(err)
	}
	for qa.Counters().In[fabric.OpRead] == 0 {
		if qa.State() != fabric.StateReady {
			t.Fatal(qa.Err())
		}
	}
}

// TestPeerThatDoesNotRead has a peer that does not read its control connection: nothing
// here waits for it.
func TestPeerThatDoesNotRead(t *testing.T) {
	a, b := newHost(t), newHost(t)
	qa, qb := connect(t, a, b, a.listen(0))
	qb.mu.Lock() // its reader waits here with the first counts
	defer qb.mu.Unlock()
	qa.control.mu.Lock()
	body := (&counts{}).append(nil)
	for range 1 << 20 {
		if qa.control.write(kindCounts, body); qa.control.writeShut {
			break
		}
	}
	qa.control.mu.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	closed := make(chan error, 1)
	go func() { closed <- qa.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-ctx.Done():
		t.Fatal("Close waits for a peer that does not read")
	}
}

// TestRefusalFits refuses for a reason that is longer than a message: the
// dialer hears as much as fits.
func TestRefusalFits(t *testing.T) {
	s := newHost(t)
	near, far := tcpPair(t)
	open, ok := s.dev.handshakes.Begin(near)
	if !ok {
		t.Fatal("the device is closed")
	}
	h := &halfOpen{open, s.dev}
	h.refuse(strings.Repeat("because ", 1000))
	h.Abandon()
	var buf [maxBody]byte
	if k, body, err := readMessage(far, &buf); k != kindRefuse || !strings.HasPrefix(string(body), "because ") || err != nil {
		t.Errorf("the dialer hears message %d, %q, %v", k, body, err)
	}
}

// watched is a context that does not end and counts who waits for it.
type watched struct {
	context.Context
	done    chan struct{}
	waiting *atomic.Int64
}

func (w watched) Done() <-chan struct{} { return w.done }

// AfterFunc is what package context calls for a context of another package.
func (w watched) AfterFunc(func()) (stop func() bool) {
	w.waiting.Add(1)
	var once sync.Once
	return func() bool {
		stopped := false
		once.Do(func() { stopped = true; w.waiting.Add(-1) })
		return stopped
	}
}

// TestFailedDial dials where nobody accepts, in a context that goes on: what
// failed leaves nothing there.
func TestFailedDial(t *testing.T) {
	a, b := newHost(t), newHost(t)
	l := a.listen(0)
	ctx := watched{t.Context(), make(chan struct{}), new(atomic.Int64)}
	for range 3 {
		go func() {
			if r, err := l.Accept(t.Context()); err == nil {
				_ = r.Reject(nil)
			}
		}()
		var rejected *fabric.RejectedError
		if _, err := b.dev.Dial(ctx, l.Addr(), b.config(), nil); !errors.As(err, &rejected) {
			t.Fatalf("Dial: %v, want a rejection", err)
		}
	}
	if n := ctx.waiting.Load(); n != 0 {
		t.Errorf("%d dials that failed wait for the end of their context", n)
	}
}

// TestUnreachableHandle makes an address handle for a host that is not there,
// as any peer may ask for. However long the adapter looks for it, the device
// goes on.
func TestUnreachableHandle(t *testing.T) {
	s := newHost(t)
	addr := gramAddress{ethernet: s.dev.adapter.Load().choice.Ethernet, gid: s.dev.adapter.Load().choice.GID.Addr.As16(), qpn: 17}
	addr.gid[15] = 99
	made := make(chan error, 1)
	start := s.dev.clock.Now()
	go func() {
		h, err := s.dom.NewAddressHandle(t.Context(), addr.encode())
		if err == nil {
			_ = h.Close()
		}
		made <- err
	}()
	longest := int64(0)
	for {
		before := s.dev.clock.Now()
		p, err := s.dev.NewDomain()
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		longest = max(longest, s.dev.clock.Now()-before)
		select {
		case err := <-made:
			took := s.dev.clock.Now() - start
			t.Logf("the handle took %v (%v), the device stood still for %v",
				time.Duration(took), err, time.Duration(longest))
			if took > int64(time.Second) && longest > took/2 {
				t.Errorf("the device stood still for %v", time.Duration(longest))
			}
			return
		default:
		}
	}
}

// TestStoppedPeer reads counters often while the peer's process is stopped: it is
// asked once, answers when it runs again, and is never given up.
func TestStoppedPeer(t *testing.T) {
	a, b := newHost(t), newHost(t)
	qa, qb := connect(t, a, b, a.listen(0))
	qb.control.mu.Lock() // its reader waits here with the first ask
	const changes = 50000
	for range changes {
		qb.stats.sidedBytes.Add(1)
		qa.Counters()
	}
	qa.control.mu.Lock()
	if !qa.control.asked || qa.control.writeShut {
		t.Errorf("the peer is asked: %v, given up: %v", qa.control.asked, qa.control.writeShut)
	}
	qa.control.mu.Unlock()
	qb.control.mu.Unlock()
	start := a.dev.clock.Now()
	for qa.Counters().InBytes != changes {
		if a.dev.clock.Now()-start > int64(10*time.Second) {
			t.Fatalf("the peer is known to have written %d bytes", qa.Counters().InBytes)
		}
		runtime.Gosched()
	}
	if err := errors.Join(qa.Err(), qb.Err()); err != nil {
		t.Error(err)
	}
}

// TestOptions checks what an address can ask for.
func TestOptions(t *testing.T) {
	s := newHost(t)
	c := s.dev.Choice()
	for _, bad := range []Config{
		{Device: "no such device"},
		{Device: c.Device, Port: 99},
		{Device: c.Device, GID: "9999"},
	} {
		if d, err := New(bad); err == nil {
			_ = d.Close()
			t.Errorf("New(%+v) opened a device", bad)
		} else if !errors.Is(err, fabric.ErrInvalid) {
			t.Errorf("New(%+v): %v, want ErrInvalid", bad, err)
		}
	}
	addr, err := fabric.ParseAddr("rdma://127.0.0.1:0?device=elsewhere&port=1")
	if err != nil {
		t.Fatal(err)
	}
	if l, err := s.dev.Listen(addr, fabric.ListenConfig{}); err == nil {
		_ = l.Close()
		t.Error("a device listened at an address of another")
	}
	for _, text := range []string{"rdma://h:1?port=x", "rdma://h:1?port=0", "rdma://h:1?speed=fast"} {
		addr, err := fabric.ParseAddr(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ConfigOf(addr); !errors.Is(err, fabric.ErrInvalid) {
			t.Errorf("ConfigOf(%s): %v, want ErrInvalid", text, err)
		}
	}
}

//go:build rdma

package verbs

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
)

// stand is a device with a listener and what a queue pair needs.
type stand struct {
	t   *testing.T
	dev *Device
	dom fabric.Domain
	cq  fabric.CQ
}

func newStand(t *testing.T) *stand {
	t.Helper()
	d, err := New(Config{Device: os.Getenv("REMORA_RDMA_DEVICE")})
	if err != nil {
		t.Fatal(err)
	}
	s := &stand{t: t, dev: d}
	t.Cleanup(func() { _ = d.Close() })
	if s.dom, err = d.NewDomain(); err != nil {
		t.Fatal(err)
	}
	if s.cq, err = d.NewCQ(4096); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *stand) config() fabric.QPConfig {
	return fabric.QPConfig{Domain: s.dom, SendCQ: s.cq, RecvCQ: s.cq, SendDepth: 8, RecvDepth: 8}
}

func (s *stand) listen(timeout time.Duration) fabric.Listener {
	s.t.Helper()
	l, err := s.dev.Listen(fabric.Addr{Fabric: "rdma", Name: "127.0.0.1:0"}, fabric.ListenConfig{HandshakeTimeout: timeout})
	if err != nil {
		s.t.Fatal(err)
	}
	return l
}

// connect makes a connection of two stands and returns both ends.
func connect(t *testing.T, a, b *stand, l fabric.Listener) (qa, qb *QP) {
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
	return got.qp.(*QP), qp.(*QP)
}

// TestHostileHello lets strangers knock at a listener, which goes on.
func TestHostileHello(t *testing.T) {
	a, b := newStand(t), newStand(t)
	l := a.listen(300 * time.Millisecond)
	good := sampleHello()
	wrongVersion := good.append(nil)
	wrongVersion[4] = 77
	for what, bytes := range map[string][]byte{
		"nothing":        {},
		"half a header":  {1},
		"a huge message": {0xff, 0xff, 1, 0, 0},
		"http":           []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		"ready first":    appendMessage(nil, kindReady, nil),
		"empty hello":    appendMessage(nil, kindHello, nil),
		"version 77":     appendMessage(nil, kindHello, wrongVersion),
		"cut hello":      appendMessage(nil, kindHello, good.append(nil))[:30],
	} {
		c, err := net.Dial("tcp", l.Addr().Name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write(bytes); err != nil {
			t.Fatal(err)
		}
		_ = c.SetReadDeadline(until(5 * time.Second))
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
		t.Errorf("after the strangers: %v, %v", qa.Err(), qb.Err())
	}
}

// TestHostileDialer accepts a request whose maker then breaks the rules.
func TestHostileDialer(t *testing.T) {
	a := newStand(t)
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
		h.end.gid = a.dev.adapter.choice.GID.Addr.As16()
		h.end.ethernet = a.dev.adapter.port.ethernet
		if _, err := c.Write(append(appendMessage(nil, kindHello, h.append(nil)), then...)); err != nil {
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
	a, b := newStand(t), newStand(t)
	l := a.listen(0)
	for what, bytes := range map[string][]byte{
		"a huge message": {0xff, 0xff, 6},
		"kind 0":         appendMessage(nil, 0, nil),
		"a hello":        appendMessage(nil, kindHello, nil),
		"short counts":   appendMessage(nil, kindCounts, []byte{1}),
		"a long bye":     appendMessage(nil, kindBye, []byte{0, 0}),
	} {
		qa, qb := connect(t, a, b, l)
		if _, err := qb.link.c.Write(bytes); err != nil {
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
	if _, err := qb.link.c.Write(appendMessage(nil, kindCounts, c.append(nil))); err != nil {
		t.Fatal(err)
	}
	for qa.Counters().In[fabric.OpRead] == 0 {
		if qa.State() != fabric.StateReady {
			t.Fatal(qa.Err())
		}
	}
}

// TestDeafPeer has a peer that does not read its control connection: nothing
// here waits for it.
func TestDeafPeer(t *testing.T) {
	a, b := newStand(t), newStand(t)
	qa, qb := connect(t, a, b, a.listen(0))
	qb.mu.Lock() // its reader waits here with the first counts
	defer qb.mu.Unlock()
	qa.link.mu.Lock()
	msg := appendMessage(nil, kindCounts, (&counts{}).append(nil))
	for range 1 << 20 {
		if qa.link.write(msg); qa.link.deaf {
			break
		}
	}
	qa.link.mu.Unlock()
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

// TestOptions checks what an address can ask for.
func TestOptions(t *testing.T) {
	s := newStand(t)
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

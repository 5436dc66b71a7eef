package base_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
	"github.com/remora-kv/remora/test/cachetest"
)

func TestMain(m *testing.M) { cachetest.Main(m) }

// refused collects what was refused.
type refused struct {
	mu  sync.Mutex
	all map[byte]string
}

func (r *refused) note(b byte, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all[b] = why
}

// seen returns what was refused until now, and why.
func (r *refused) seen() map[byte]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.all)
}

// greeter is a provider whose hello is one byte.
type greeter struct {
	*base.Listener[byte]
	refused refused
	reports chan error
}

func open(t *testing.T, backlog int) *greeter {
	t.Helper()
	g := &greeter{refused: refused{all: map[byte]string{}}, reports: make(chan error, 1000)}
	var err error
	g.Listener, err = base.Listen(fabric.Addr{Fabric: "test", Name: "127.0.0.1:0"}, fabric.ListenConfig{
		Backlog: backlog, Report: func(err error) { g.reports <- err },
	}, base.ListenerConfig[byte]{Provider: "test", Fabric: "test", Greet: g.greet, Refuse: g.refused.note})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(g.Run)
	t.Cleanup(func() {
		_ = g.Close()
		wg.Wait()
	})
	return g
}

func (g *greeter) greet(c *net.TCPConn, in io.Reader) error {
	defer func() { _ = c.Close() }()
	var b [1]byte
	if _, err := in.Read(b[:]); err != nil {
		return err
	}
	return g.Offer(b[0])
}

// say connects and says hello.
func (g *greeter) say(t *testing.T, b byte) {
	t.Helper()
	c := g.dial(t)
	if _, err := c.Write([]byte{b}); err != nil {
		t.Fatal(err)
	}
	_, _ = c.Read(make([]byte, 1)) // it is closed when it was heard
	_ = c.Close()
}

func (g *greeter) dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", g.Addr().Name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRequestsComeInOrder(t *testing.T) {
	g := open(t, 10)
	for b := range byte(5) {
		g.say(t, b)
	}
	for b := range byte(5) {
		if r, err := g.Accept(t.Context()); err != nil || r != b {
			t.Fatalf("got %d, %v; want %d", r, err, b)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := g.Accept(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), g.Addr().Name) {
		t.Errorf("nobody came: %v", err)
	}
}

// L2 and L3.
func TestRefuses(t *testing.T) {
	g := open(t, 2)
	for b := range byte(3) {
		g.say(t, b)
	}
	if got := g.refused.seen(); len(got) != 1 || got[2] != base.BacklogFull {
		t.Errorf("with a full backlog: refused %v", got)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if got := g.refused.seen(); len(got) != 3 || got[0] != base.Stopped || got[1] != base.Stopped {
		t.Errorf("after Close: refused %v", got)
	}
	_ = g.Offer(7) // it was being greeted meanwhile
	if why, ok := g.refused.seen()[7]; !ok || why != base.Stopped {
		t.Errorf("what came after Close was not refused")
	}
	if _, err := g.Accept(t.Context()); !errors.Is(err, fabric.ErrClosed) {
		t.Errorf("Accept after Close: %v", err)
	}
	if err := g.Close(); !errors.Is(err, fabric.ErrClosed) {
		t.Errorf("a second Close: %v", err)
	}
}

// L3, with everything at the same time: each is accepted or refused, once.
func TestCloseAmongRequests(t *testing.T) {
	for range 50 {
		g := open(t, 4)
		const n = 8
		var wg sync.WaitGroup
		accepted := 0
		wg.Go(func() {
			for {
				if _, err := g.Accept(context.Background()); err != nil {
					return
				}
				accepted++
			}
		})
		for b := range byte(n) {
			wg.Go(func() { _ = g.Offer(b) })
		}
		wg.Go(func() { _ = g.Close() })
		wg.Wait()
		if got := accepted + len(g.refused.seen()); got != n {
			t.Fatalf("%d were accepted and %d refused, of %d", accepted, len(g.refused.seen()), n)
		}
	}
}

// L1: a flood of silent connections keeps out nobody who speaks, whether from the same host or
// another, and not a silent one of another host either.
func TestSilentPeers(t *testing.T) {
	g := open(t, 1)
	slow := g.dialFrom(t, "127.0.0.2") // the oldest, and not one of many
	const flood = 600
	for range flood {
		_ = g.dialFrom(t, "127.0.0.1")
	}
	for closed := 0; closed < 1+flood-512; {
		g.say(t, 1)
		if r, err := g.Accept(t.Context()); err != nil || r != 1 {
			t.Fatalf("while others are silent: %d, %v", r, err)
		}
		for ; len(g.reports) != 0; closed++ {
			if err := <-g.reports; !strings.Contains(err.Error(), "connection of 127.0.0.1:") || !errors.Is(err, base.ErrCrowded) {
				t.Errorf("reported: %v", err)
			}
		}
	}
	if _, err := slow.Write([]byte{2}); err != nil {
		t.Fatal(err)
	}
	if r, err := g.Accept(t.Context()); err != nil || r != 2 {
		t.Errorf("one that was silent for long: %d, %v", r, err)
	}
}

// dialFrom connects from an address of this host. The connection is closed with the test.
func (g *greeter) dialFrom(t *testing.T, ip string) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
	c, err := d.DialContext(t.Context(), "tcp", g.Addr().Name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestWrongAddresses(t *testing.T) {
	g := open(t, 1)
	for name, want := range map[string]string{
		g.Addr().Name:   "another process listens there",
		"192.0.2.1:1":   "this host has no such address",
		"127.0.0.1:bad": "listen at",
	} {
		_, err := base.Listen(fabric.Addr{Fabric: "test", Name: name}, fabric.ListenConfig{}, base.ListenerConfig[byte]{Provider: "test"})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	for _, cfg := range []fabric.ListenConfig{{Backlog: -1}, {HandshakeTimeout: -1}} {
		if _, err := base.Listen(g.Addr(), cfg, base.ListenerConfig[byte]{}); !errors.Is(err, fabric.ErrInvalid) {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}

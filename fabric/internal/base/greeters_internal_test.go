package base

import (
	"net"
	"testing"
)

// enter adds a connection to s, and returns its other end.
func enter(t *testing.T, s *Greeters, l net.Listener, peer string) (*Greeter, net.Conn, int) {
	t.Helper()
	far, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	near, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = far.Close(), near.Close() })
	conn, ok := near.(*net.TCPConn)
	if !ok {
		t.Fatalf("a connection is a %T", near)
	}
	g, closed, err := s.Enter(conn, peer, peer)
	if err != nil {
		t.Fatal(err)
	}
	return g, far, len(closed)
}

// Connections whose hello has come are not closed to make room, though nobody has read it yet,
// and silent ones are.
func TestSpeakersKeepTheirPlaces(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	s := NewGreeters(1)
	var all []*Greeter
	for range minGreeters + 10 {
		g, far, closed := enter(t, s, l, "crowd")
		if closed != 0 {
			t.Fatalf("%d were closed of %d that said hello", closed, len(all))
		}
		if _, err := far.Write([]byte("hello")); err != nil {
			t.Fatal(err)
		}
		if err := g.Await(); err != nil {
			t.Fatal(err)
		}
		g.silent.Store(true) // as if the reader had not been woken yet
		all = append(all, g)
	}
	var b [5]byte
	if _, err := all[3].Read(b[:]); err != nil {
		t.Fatal(err)
	}
	_, far, closed := enter(t, s, l, "crowd")
	if _, err := far.Write([]byte("hello")); closed != 0 || err != nil {
		t.Errorf("%d were closed that had said hello, %v", closed, err)
	}
	all[3].silent.Store(true) // it waits for more
	if g, _, closed := enter(t, s, l, "crowd"); closed != 1 || g == nil {
		t.Errorf("%d were closed, one was silent", closed)
	}
	if _, err := all[3].conn.Read(b[:]); err == nil {
		t.Error("the silent one is open")
	}
	s.Close()
	if err := all[4].Await(); err == nil {
		t.Error("a connection is open after Close")
	}
}

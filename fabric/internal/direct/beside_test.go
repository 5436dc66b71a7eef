package direct

import (
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/affinity"
)

// Each end knows where the other was when it last looked.
func TestBeside(t *testing.T) {
	a, b, _ := newPair(t, fabric.QPConfig{Transport: fabric.RC, SendDepth: 4, RecvDepth: 4})
	here, elsewhere := affinity.At(1, 100), affinity.At(2, 100)
	for _, e := range []*end{a, b} {
		if e.cq.beside(here) {
			t.Error("beside a peer that never looked")
		}
		if _, err := e.qp.PostRecv([]fabric.RecvWR{{}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		e    *end
		at   affinity.Place
		want bool
	}{
		{a, here, false},
		{b, here, true},
		{a, here, true},
		{a, elsewhere, false},
		{b, here, false},
		{b, elsewhere, true},
		{b, affinity.At(2, 200), false}, // it was there long ago
		{a, affinity.At(2, 201), true},
	} {
		if got := c.e.cq.beside(c.at); got != c.want {
			t.Errorf("%#x: %v, want %v", uint32(c.at), got, c.want)
		}
	}
}

// Of many peers the one that is near is found, and found again at once.
func TestBesideOneOfMany(t *testing.T) {
	cfg := fabric.QPConfig{Transport: fabric.RC, SendDepth: 4, RecvDepth: 4}
	first, _, _ := newPair(t, cfg)
	server := first.cq
	const many = 100
	var clients []*end
	for range many {
		s, c, _ := newPair(t, cfg)
		if _, err := c.qp.PostRecv([]fabric.RecvWR{{}}); err != nil {
			t.Fatal(err)
		}
		server.listening = append(server.listening, &s.qp.in) // as if they shared the server's queue
		clients = append(clients, c)
	}
	defer func() { server.listening = nil }()
	here := affinity.At(1, 1)
	clients[70].cq.beside(here)
	looks := 1
	for ; !server.beside(here); looks++ {
		if looks > many {
			t.Fatalf("not found in %d looks", looks)
		}
	}
	if looks > many/besideLooks+1 {
		t.Errorf("found after %d looks, want %d", looks, many/besideLooks+1)
	}
	for range many {
		if !server.beside(here) {
			t.Fatal("not found again")
		}
	}
}

// A sender of datagrams knows where the receiver of the last one is, and the other way round.
func TestBesideDatagrams(t *testing.T) {
	mem := HeapBytes(GramSegmentBytes(), pageSize)
	out, in := ringAt(mem, 1), source{consumer: consumer{ring: ringAt(mem, 1)}, qp: &QP{transport: fabric.UD}}
	sender, receiver := &CQ{}, &CQ{listening: []*source{&in}}
	here := affinity.At(1, 1)
	if sender.here = here; sender.beside(here) || receiver.beside(here) {
		t.Error("beside a peer before there was a datagram")
	}
	sender.meet(out.h)
	if !sender.beside(here) || !receiver.beside(here) {
		t.Error("not beside the peer after a datagram")
	}
	if elsewhere := affinity.At(2, 1); sender.beside(elsewhere) || receiver.beside(elsewhere) {
		t.Error("beside the peer on another CPU")
	}
}

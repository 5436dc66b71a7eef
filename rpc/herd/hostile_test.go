package herd_test

import (
	"bytes"
	"context"
	"math"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/tcp"
	"github.com/remora-kv/remora/rpc/herd"
)

// What a client must not do ends it and nobody else (H8). Where there is no order, a malformed
// request is one that is not there yet: TestRequestWithoutALine.
func TestBadClientsAreCutOff(t *testing.T) {
	requests := map[string]func(r herd.Raw) error{
		"length":   func(r herd.Raw) error { return r.WriteSlot(0, 0, 1001, 1, r.Generation()) },
		"reserved": func(r herd.Raw) error { return r.WriteSlot(0, 0, 1<<16, 1, r.Generation()) },
		"huge":     func(r herd.Raw) error { return r.WriteSlot(1, 0, math.MaxUint64, 1, r.Generation()) },
	}
	controls := map[string]func(r herd.Raw) error{
		"control":       func(r herd.Raw) error { return r.Control([]byte("good day")) },
		"no control":    func(r herd.Raw) error { return r.Control(nil) },
		"short wake-up": func(r herd.Raw) error { return r.Control([]byte{2, 0, 0, 0, 0}) },
		"core":          func(r herd.Raw) error { return r.Wakeup(2, 1, 1) },
		"introduction":  func(r herd.Raw) error { return r.Control([]byte{1, 0, 200, 0, 1, 2, 3}) },
	}
	for _, fabric := range fabrics {
		t.Run(fabric, func(t *testing.T) {
			for name, harm := range controls {
				t.Run(name, func(t *testing.T) { cutOff(t, newRig(t, fabric), harm) })
			}
			if !newRig(t, fabric).NewDevice().Limits().InOrder {
				return
			}
			for name, harm := range requests {
				t.Run(name, func(t *testing.T) { cutOff(t, newRig(t, fabric), harm) })
			}
		})
	}
}

// cutOff has a client do harm, and another go on.
func cutOff(t *testing.T, r *rig, harm func(r herd.Raw) error) {
	s := r.serve(herd.ServerConfig{Cores: 2})
	good, bad := r.dial(herd.ConnConfig{}), r.dial(herd.ConnConfig{})
	if _, err := call(good, 1, procEcho, nil); err != nil {
		t.Fatal(err)
	}
	if err := harm(herd.Raw{Conn: bad}); err != nil {
		t.Fatal(err)
	}
	_ = herd.Raw{Conn: bad}.Wakeup(0, 1, 1) // the core may be asleep
	_ = herd.Raw{Conn: bad}.Wakeup(1, 1, 1)
	await(t, "the end of the client", func() bool { bad.Poll(); return bad.Err() != nil })
	await(t, "its place", func() bool { return s.Stats().Clients == 1 })
	if st := s.Stats(); st.Cut == 0 {
		t.Errorf("%+v", st)
	}
	if got, err := call(good, 0, procEcho, []byte("x")); err != nil || string(got) != "x" {
		t.Errorf("another client: %q, %v", got, err)
	}
}

// A client cannot have datagrams sent to another host than its own.
func TestDatagramsGoToTheHostOfTheConnection(t *testing.T) {
	r := newRig(t, "tcp")
	s := r.serve(herd.ServerConfig{})
	good := r.dial(herd.ConnConfig{})
	dev, err := tcp.New(tcp.Config{Host: "127.0.0.2"}) // and it connects from 127.0.0.1
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dev.Close() })
	if bad, err := r.tryDial(herd.ConnConfig{Device: dev}); err == nil {
		t.Error("it is served")
		_ = bad.Close()
	}
	if st := s.Stats(); st.Cut != 1 {
		t.Errorf("%+v", st)
	}
	if got, err := call(good, 0, procEcho, []byte("x")); err != nil || string(got) != "x" {
		t.Errorf("another client: %q, %v", got, err)
	}
}

// What a client does to itself alone is not noticed: stamps of other times and other
// clients, and wake-ups for what never was.
func TestNonsenseIsPassedOver(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		s := r.serve(herd.ServerConfig{Window: 4})
		c := r.dial(herd.ConnConfig{})
		raw := herd.Raw{Conn: c}
		for _, number := range []uint64{0, 2, 5, 1 << 39, math.MaxUint64} {
			if err := raw.WriteSlot(0, 0, 8, number, raw.Generation()); err != nil {
				t.Fatal(err)
			}
		}
		if err := raw.WriteSlot(0, 0, 8, 1, raw.Generation()^1); err != nil {
			t.Fatal(err)
		}
		for _, number := range []uint64{0, 1, 2, 1 << 39, math.MaxUint64 - 1, math.MaxUint64} {
			wakeups := s.Stats().Wakeups
			if err := raw.Wakeup(0, number, math.MaxUint64); err != nil {
				t.Fatal(err)
			}
			// It follows the WRITEs. Where the first of those waits for the region to be
			// mapped, both go out when the client polls, and not before.
			await(t, "the wake-up", func() bool {
				c.Poll()
				return s.Stats().Wakeups > wakeups
			})
		}
		if st := s.Stats(); st.Calls != 0 || st.Resent != 0 {
			t.Errorf("%+v", st)
		}
		for range 10 {
			if got, err := call(c, 0, procEcho, []byte("x")); err != nil || string(got) != "x" {
				t.Fatalf("%q, %v", got, err)
			}
		}
		if st := s.Stats(); st.Calls != 10 {
			t.Errorf("%+v", st)
		}
	})
}

// Datagrams from anybody are looked at with care (H3): none of these is taken for a
// reply to the request that is on its way.
func TestForeignDatagrams(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.serve(herd.ServerConfig{})
		c := r.dial(herd.ConnConfig{Window: 2, RetryAfter: patience, GiveUp: 2 * patience})
		raw := herd.Raw{Conn: c}
		if got, err := call(c, 0, procEcho, []byte("first")); err != nil || string(got) != "first" {
			t.Fatalf("%q, %v", got, err)
		}
		g, lie := raw.Generation(), []byte("a lie")
		p := newPoster(t, r, raw.Address())
		for _, b := range [][]byte{
			nil, []byte("short"), bytes.Repeat([]byte{0xFF}, 16), bytes.Repeat([]byte{0xFF}, 1000),
			herd.AppendReply(nil, g, 1, 0, 0, lie), // taken before
			herd.AppendReply(nil, g, 0, 0, 0, lie),
			herd.AppendReply(nil, g, 3, 0, 0, lie), // not sent yet
			herd.AppendReply(nil, g, 1<<39, 0, 0, lie),
			herd.AppendReply(nil, g^1, 2, 0, 0, lie), // of somebody else
			herd.AppendReply(nil, g, 2, 1, 0, lie),   // of a core that is not there
			herd.AppendReply(nil, g, 2, 0, 9, lie),   // of no kind
		} {
			before := c.Stats().Unexpected
			p.send(b)
			await(t, "the datagram", func() bool {
				p.send(b)
				c.Poll()
				return c.Stats().Unexpected > before
			})
			if c.Err() != nil {
				t.Fatal(c.Err())
			}
		}
		if got, err := call(c, 0, procEcho, []byte("second")); err != nil || string(got) != "second" {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// poster sends datagrams.
type poster struct {
	t   *testing.T
	reg *fabric.Region
	cq  fabric.CQ
	qp  fabric.QP
	to  fabric.AddressHandle
}

func newPoster(t *testing.T, r *rig, to []byte) *poster {
	t.Helper()
	dev := r.NewDevice()
	dom, err := dev.NewDomain()
	if err != nil {
		t.Fatal(err)
	}
	p := &poster{t: t}
	if p.cq, err = dev.NewCQ(8); err != nil {
		t.Fatal(err)
	}
	if p.reg, err = dom.Alloc("test", 4096, 0); err != nil {
		t.Fatal(err)
	}
	p.qp, err = dom.NewUD(fabric.QPConfig{Transport: fabric.UD, SendCQ: p.cq, RecvCQ: p.cq, SendDepth: 4, RecvDepth: 1})
	if err != nil {
		t.Fatal(err)
	}
	if p.to, err = dom.NewAddressHandle(context.Background(), to); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.qp.Close() })
	return p
}

func (p *poster) send(b []byte) {
	copy(p.reg.Bytes(), b)
	wr := fabric.WR{Op: fabric.OpSend, Flags: fabric.FlagSignaled, Local: p.reg.Seg(0, len(b)), To: p.to}
	if _, err := p.qp.Post([]fabric.WR{wr}); err != nil {
		p.t.Fatal(err)
	}
	var comps [1]fabric.Completion
	await(p.t, "the SEND", func() bool { return p.cq.Poll(comps[:]) != 0 })
}

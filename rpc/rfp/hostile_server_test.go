package rfp_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/rfp"
	"github.com/remora-kv/remora/rpc/wire"
)

// lie is what a hostile server answers to one call, and what the client must
// make of it: an error that says what was wrong, or nothing until its time is
// over.
type lie struct {
	name string
	tell func(s *rawServer, stop <-chan struct{})
	fail bool
}

var lies = []lie{
	{name: "nothing", tell: func(*rawServer, <-chan struct{}) {}},
	{name: "frame larger than agreed", fail: true, tell: func(s *rawServer, _ <-chan struct{}) {
		s.putWord(0, wire.MakeWord0(1, rawPayload+1, wire.ResultAux(0, true)))
	}},
	{name: "largest frame", fail: true, tell: func(s *rawServer, _ <-chan struct{}) {
		s.putWord(0, wire.MakeWord0(1, wire.MaxPayload, wire.ResultAux(0, true)))
	}},
	{name: "entry beyond the frame", fail: true, tell: func(s *rawServer, _ <-chan struct{}) {
		s.frame(1, []byte{100, 0, 0, 0, 1}, true)
	}},
	{name: "half an entry header", fail: true, tell: func(s *rawServer, _ <-chan struct{}) {
		s.frame(1, []byte{0, 0}, true)
	}},
	{name: "more results than messages", fail: true, tell: func(s *rawServer, _ <-chan struct{}) {
		s.frame(1, entries([]byte("one"), []byte("two"), []byte("three")), true)
	}},
	{name: "no result", fail: true, tell: func(s *rawServer, _ <-chan struct{}) { s.frame(1, nil, true) }},
	{name: "half a result", fail: true, tell: func(s *rawServer, _ <-chan struct{}) {
		s.frame(1, entry([]byte("begin"), wire.More), true)
	}},
	{name: "results that are never the last", fail: true, tell: func(s *rawServer, stop <-chan struct{}) {
		s.frames(stop, entries([]byte("x")))
	}},
	{name: "empty frames without end", tell: func(s *rawServer, stop <-chan struct{}) { s.frames(stop, nil) }},
	{name: "a result without end", fail: true, tell: func(s *rawServer, stop <-chan struct{}) {
		s.frames(stop, entry(pattern(500, 1), wire.More))
	}},
	{name: "empty parts without end", tell: func(s *rawServer, stop <-chan struct{}) {
		s.frames(stop, bytes.Repeat(entry(nil, wire.More), 100))
	}},
	{name: "a piece though there is no area", fail: true, tell: func(s *rawServer, _ <-chan struct{}) {
		s.frame(1, pieceEntry(wire.Piece{Size: 10, Total: 10}), true)
	}},
	{name: "parked forever", tell: func(s *rawServer, _ <-chan struct{}) { s.putWord(0, wire.ParkedWord0(1)) }},
	{name: "frame of the future", tell: func(s *rawServer, _ <-chan struct{}) {
		for n := uint64(2); n < 9; n++ {
			s.frame(n, entries([]byte("x")), true)
		}
	}},
	{name: "all ones", tell: func(s *rawServer, _ <-chan struct{}) { s.put(0, bytes.Repeat([]byte{0xFF}, 2*rawStride)) }},
	{name: "size that changes", fail: true, tell: func(s *rawServer, stop <-chan struct{}) {
		for size := 0; ; size = (size + 511) % 5000 {
			select {
			case <-stop:
				return
			default:
				s.putWord(0, wire.MakeWord0(1, size, wire.ResultAux(0, true)))
			}
		}
	}},
}

// frames puts frames into the ring, as fast as the client says to have taken.
func (s *rawServer) frames(stop <-chan struct{}, payload []byte) {
	for n := uint64(1); ; n++ {
		s.frame(n, payload, false)
		for n >= rawResults {
			// Read while the client may write: whole, or it is read again.
			taken := binary.LittleEndian.Uint64(s.peek(rawTaken, 8))
			if n-taken < rawResults {
				break
			}
			select {
			case <-stop:
				return
			case <-time.After(10 * time.Microsecond):
			}
		}
	}
}

func TestHostileServer(t *testing.T) {
	for _, mode := range []rfp.Mode{rfp.Fetch, rfp.Reply} {
		eachFabric(t, func(t *testing.T, r *rig) {
			s := r.rawServer()
			for _, l := range lies {
				s.clear()
				s.tellLie(r, &l, rfp.Params{Pinned: true, Mode: mode})
			}
		})
	}
}

func (s *rawServer) tellLie(r *rig, l *lie, p rfp.Params) {
	t := r.TB
	dev, err := r.Set.Open(r.Fabric)
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	r.Addr = s.addr
	c := r.dial(rfp.ConnConfig{Device: dev, Params: p})
	defer c.Close()
	qp := <-s.accepted
	defer qp.Close()
	if _, err := qp.PostRecv(make([]fabric.RecvWR, 64)); err != nil {
		t.Fatal(err)
	}
	if err := c.Send(1, request(procEcho, []byte("x"))); err != nil {
		t.Fatal(err)
	}
	stop, over := make(chan struct{}), make(chan struct{})
	go func() { l.tell(s, stop); close(over) }()
	limit := 40 * time.Millisecond
	// A client that expects pushes looks seldom, and may not find out in time.
	sure := l.fail && p.Mode == rfp.Fetch
	switch {
	case sure:
		limit = patience
	case l.fail:
		limit = time.Second
	}
	end := time.Now().Add(limit)
	for c.Err() == nil && time.Now().Before(end) {
		if c.Wait(time.Until(end)) {
			_, _, _ = c.Next()
		}
		if c.Outstanding() == 0 {
			c.Poll()
		}
	}
	close(stop)
	<-over
	switch {
	case sure && c.Err() == nil, l.fail && c.Err() != nil && !errors.Is(c.Err(), rpc.ErrProtocol):
		t.Errorf("%s: the client says %v", l.name, c.Err())
	case !l.fail && c.Err() != nil:
		t.Errorf("%s: %v", l.name, c.Err())
	}
}

// Welcomes that make no sense are refused by the client, and none harms it.
func TestHostileWelcomes(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		s := r.rawServer()
		r.Addr = s.addr
		for name, change := range map[string]func(w *wire.Welcome){
			"no window":             func(w *wire.Welcome) { w.Window = 0 },
			"window larger":         func(w *wire.Welcome) { w.Window, w.Results = 100, 200 },
			"results larger":        func(w *wire.Welcome) { w.Results = 60_000 },
			"results fewer":         func(w *wire.Welcome) { w.Results = 7 },
			"no results":            func(w *wire.Welcome) { w.Results = 0 },
			"payload larger":        func(w *wire.Welcome) { w.Payload = 1 << 31 },
			"no payload":            func(w *wire.Welcome) { w.Payload = 0 },
			"no message":            func(w *wire.Welcome) { w.MaxMessage = 0 },
			"messages of gigabytes": func(w *wire.Welcome) { w.MaxMessage = 1<<32 - 1 },

			"area larger":             func(w *wire.Welcome) { w.Bulk, w.ResultBulk = 1<<20, 1<<20 },
			"area of half a line":     func(w *wire.Welcome) { w.Bulk, w.ResultBulk = 100, 100 },
			"area for results alone":  func(w *wire.Welcome) { w.ResultBulk = 256 },
			"area for requests alone": func(w *wire.Welcome) { w.Bulk = 256 },
			"area for results larger": func(w *wire.Welcome) { w.Bulk, w.ResultBulk = 256, 8*256 },
			"area of gigabytes":       func(w *wire.Welcome) { w.Bulk, w.ResultBulk = 256, 1<<32-1 },
			"area for results uneven": func(w *wire.Welcome) { w.Bulk, w.ResultBulk = 256, 300 },
		} {
			w := s.goodWelcome()
			change(&w)
			s.greet(w.Append(nil))
			s.refused(r, name)
		}
		for name, greeting := range map[string][]byte{
			"garbage": []byte("HTTP/1.1 400 Bad Request"), "nothing": nil, "short": s.welcomeBytes()[:20],
		} {
			s.greet(greeting)
			s.refused(r, name)
		}
	})
}

// refused dials, in vain.
func (s *rawServer) refused(r *rig, name string) {
	dev := r.NewDevice()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if c, err := rfp.Dial(ctx, s.addr, rfp.ConnConfig{Device: dev}); err == nil {
		r.Errorf("%s: the client took the welcome", name)
		_ = c.Close()
	}
	_ = (<-s.accepted).Close()
}

// Memory that the server names and does not give breaks the connection, with an
// error and not forever.
func TestWelcomeToForeignMemory(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		for name, change := range map[string]func(w *wire.Welcome){
			"no such key for requests": func(w *wire.Welcome) { w.Requests.Key ^= 0x5A5A5A5A },
			"no such key for answers":  func(w *wire.Welcome) { w.Answers.Key ^= 0x5A5A5A5A },
			"requests exchanged":       func(w *wire.Welcome) { w.Requests, w.Answers = w.Answers, w.Requests },
			"end of the world":         func(w *wire.Welcome) { w.Answers.Addr = ^uint64(0) - 7 },
		} {
			s := r.rawServer()
			w := s.goodWelcome()
			change(&w)
			s.greet(w.Append(nil))
			r.Addr = s.addr
			c := r.dial(rfp.ConnConfig{})
			qp := <-s.accepted
			var err error
			for err == nil {
				if err = c.Send(1, request(procEcho, []byte("x"))); err == nil && !c.Wait(patience) {
					err = c.Err()
					break
				}
			}
			if err == nil || c.Err() == nil {
				t.Errorf("%s: %v, %v", name, err, c.Err())
			}
			_ = c.Close()
			_ = qp.Close()
			_ = s.listener.Close()
		}
	})
}

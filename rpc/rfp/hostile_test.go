package rfp_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc/rfp"
	"github.com/remora-kv/remora/rpc/wire"
	"github.com/remora-kv/remora/test/cachetest"
)

// attack is what a hostile client does and what must come of it (I6).
type attack struct {
	name  string
	hello func(c *rawClient, h *wire.Hello)
	do    func(c *rawClient)
	ends  fate
	log   string // what the log must say
}

type fate int

const (
	stays fate = iota // it harms only itself and may stay
	isCut
	isLost
	ended // lost, or as if it had left: some fabrics do not tell the target why
)

var someCall = entries(request(procEcho, []byte("hello")))

var one = wire.Word1{Entries: 1}

// attacks of one frame, or of none.
var frameAttacks = []attack{
	{name: "size beyond the slot", ends: isCut, log: "payload of 2049 bytes, agreed were 2048", do: func(c *rawClient) {
		c.sendWord(wire.MakeWord0(1, 2049, 1), someCall)
	}},
	{name: "largest size", ends: isCut, log: "payload of 2147483647 bytes", do: func(c *rawClient) {
		c.sendWord(wire.MakeWord0(1, wire.MaxPayload, 1), someCall)
	}},
	{name: "size larger than what was written", do: func(c *rawClient) {
		c.sendWord(wire.MakeWord0(1, 1000, 1), someCall)
	}},
	{name: "header without tail", do: func(c *rawClient) {
		c.write(c.slotOf(1), c.sealed(1, someCall, one)[:16])
	}},
	{name: "tail without header", do: func(c *rawClient) {
		b := c.sealed(1, someCall, one)
		clear(b[:16])
		c.write(c.slotOf(1), b)
	}},
	{name: "frame that is not what its tail says", do: func(c *rawClient) {
		b := c.sealed(1, someCall, one)
		b[wire.RequestHeader+wire.EntryHeader+2] ^= 1
		c.write(c.slotOf(1), b)
	}},
	{name: "frame of the future", do: func(c *rawClient) { c.write(c.slotOf(1), c.sealed(5, someCall, one)) }},
	{name: "all slots at once", do: func(c *rawClient) {
		for n := uint64(9); n > 0; n-- {
			c.write(c.slotOf(n), c.sealed(n, someCall, one))
		}
	}},
	{name: "all ones", do: func(c *rawClient) {
		c.write(0, bytes.Repeat([]byte{0xFF}, 8192))
	}},
	{name: "entry beyond the frame", ends: isCut, log: "a malformed entry", do: func(c *rawClient) {
		b := entries(request(procEcho, []byte("hello")))
		binary.LittleEndian.PutUint32(b, 100)
		c.send(b, one)
	}},
	{name: "entry of a gigabyte", ends: isCut, log: "a malformed entry", do: func(c *rawClient) {
		c.send([]byte{0xFF, 0xFF, 0xFF, 0x3F, 1, 0}, one)
	}},
	{name: "half an entry header", ends: isCut, log: "a malformed entry", do: func(c *rawClient) {
		c.send(append(bytes.Clone(someCall), 1, 0), wire.Word1{Entries: 2})
	}},
	{name: "failure as request", ends: isCut, log: "a malformed entry", do: func(c *rawClient) {
		c.send(entry(request(procEcho, nil), wire.Failure), one)
	}},
	{name: "more messages than announced", ends: isCut, log: "more messages in a frame than announced", do: func(c *rawClient) {
		c.send(bytes.Repeat(someCall, 3), wire.Word1{Entries: 2})
	}},
	{name: "fewer messages than announced", do: func(c *rawClient) { c.send(someCall, wire.Word1{Entries: 60_000}) }},
	{name: "empty frame", do: func(c *rawClient) { c.send(nil, wire.Word1{Entries: 9}) }},
	{name: "empty messages", do: func(c *rawClient) {
		c.send(make([]byte, 2048), wire.Word1{Entries: 512})
	}},
	{name: "taken what was not there, in a request", ends: isCut, log: "more results taken than there were", do: func(c *rawClient) {
		c.send(someCall, wire.Word1{Entries: 1, Taken: 1})
	}},
	{name: "taken what was not there, by WRITE", ends: isCut, log: "more results taken than there were", do: func(c *rawClient) {
		c.write(rawTaken, []byte{77, 0, 0, 0, 0, 0, 0, 0})
	}},
	{name: "taken less than before", do: func(c *rawClient) {
		c.send(someCall, wire.Word1{Entries: 1, Taken: 0xFFFFFFFF})
		c.awaitAnswer(1)
	}},
	{name: "no such procedure, no such class, no such flags, no such mode", do: func(c *rawClient) {
		c.setMode(0xFF)
		c.send(entries(request(999, nil)), wire.Word1{Entries: 1, Class: 0xFF, Flags: 0xFF})
		c.awaitAnswer(1)
	}},
}

func TestHostileFrames(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) { r.suffer(t, frameAttacks, rfp.ServerConfig{}) })
}

// attacks by other means than frames.
var verbAttacks = []attack{
	{name: "reading requests", ends: ended, log: "client l", do: func(c *rawClient) {
		c.do(fabric.WR{Op: fabric.OpRead, Local: c.mem.Seg(0, 8), Remote: c.requests()})
	}},
	{name: "writing answers", ends: ended, log: "client l", do: func(c *rawClient) {
		c.do(fabric.WR{Op: fabric.OpWrite, Local: c.mem.Seg(0, 8), Remote: fabric.Remote{Addr: c.welcome.Answers.Addr, Key: c.welcome.Answers.Key}})
	}},
	{name: "writing beyond the requests", ends: ended, log: "client l", do: func(c *rawClient) {
		c.do(fabric.WR{Op: fabric.OpWrite, Local: c.mem.Seg(0, 64), Remote: c.requests().At(1 << 20)})
	}},
	{name: "wake-up with bytes", ends: isLost, log: "client lost", do: func(c *rawClient) {
		c.do(fabric.WR{Op: fabric.OpSend, Local: c.mem.Seg(0, 100)})
	}},
	{name: "flood of wake-ups", do: func(c *rawClient) {
		for range 500 {
			c.wake()
		}
	}},
	{name: "flood of calls that nobody fetches", do: func(c *rawClient) {
		for range 200 {
			c.send(someCall, one)
		}
	}},
	{name: "replies to no key", hello: func(_ *rawClient, h *wire.Hello) { h.Replies.Key ^= 0x5A5A5A5A }, ends: isLost, log: "client lost", do: askForReply},
	{name: "replies to the end of the world", hello: func(_ *rawClient, h *wire.Hello) { h.Replies.Addr = ^uint64(0) - 7 }, ends: isLost, log: "client lost", do: askForReply},
	{name: "replies to memory that is too small", hello: func(c *rawClient, h *wire.Hello) {
		h.Replies.Addr += uint64(len(c.replies.Bytes())) - 16
	}, ends: isLost, log: "client lost", do: askForReply},
	{name: "replies to memory that is read-only", hello: func(c *rawClient, h *wire.Hello) {
		ro, err := c.dom.Alloc("read-only", 1<<16, fabric.RemoteRead)
		if err != nil {
			c.t.Fatal(err)
		}
		h.Replies = wire.Place{Addr: ro.Remote().Addr, Key: ro.Remote().Key}
	}, ends: isLost, log: "client lost", do: askForReply},
	{name: "vanishing with half a frame", ends: ended, do: func(c *rawClient) {
		c.write(c.slotOf(1), c.sealed(1, someCall, one)[:20])
		c.vanish()
	}},
	{name: "vanishing with writes on their way", ends: ended, do: func(c *rawClient) {
		b := c.sealed(1, entries(request(procEcho, pattern(2000, 1))), one)
		copy(c.mem.Bytes(), b)
		wr := fabric.WR{Op: fabric.OpWrite, Local: c.mem.Seg(0, len(b)), Remote: c.requests().At(c.slotOf(1))}
		if _, err := c.qp.Post([]fabric.WR{wr, wr, wr, wr, wr, wr, wr, wr}); err != nil {
			c.t.Fatal(err)
		}
		c.vanish()
	}},
	{name: "vanishing with an answer on its way", ends: ended, do: func(c *rawClient) {
		c.setMode(rfp.Reply)
		c.send(entries(request(procDouble, pattern(1500, 1))), one)
		c.vanish()
	}},
	{name: "connect and leave", ends: ended, do: func(c *rawClient) { c.leave() }},
}

func askForReply(c *rawClient) {
	c.setMode(rfp.Reply)
	c.send(entries(request(procEcho, pattern(600, 3))), one)
}

func TestHostileVerbs(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) { r.suffer(t, verbAttacks, rfp.ServerConfig{}) })
}

// A client that wants to be woken and posts no receives stalls its own queue pair, for as long as it likes. The
// pushes come when it posts them: a client that is slow, or stopped, keeps its connection.
func TestRepliesThatNobodyReceives(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.suffer(t, []attack{{name: "no receives", ends: stays, do: func(c *rawClient) {
			c.setMode(rfp.ReplyWake)
			for range c.welcome.Window {
				c.send(someCall, one)
			}
			for n := range c.welcome.Window { // in turn: each wakes a core that parked the session before it
				c.awaitAnswer(uint64(n) + 1)
			}
			clock := c.dev.Clock()
			start := clock.Now()
			await(c.t, "longer than servers once waited", func() bool { return clock.Now()-start > int64(1100*time.Millisecond) })
			for range c.welcome.Window {
				if _, err := c.qp.PostRecv([]fabric.RecvWR{{}}); err != nil {
					c.t.Fatal(err)
				}
			}
			var comp [1]fabric.Completion
			for n := range uint32(c.welcome.Window) {
				await(c.t, "a push", func() bool { return c.cq.Poll(comp[:]) == 1 })
				if comp[0].Status != fabric.StatusOK || comp[0].Imm != n+1 {
					c.t.Fatalf("push %d completed as %+v", n+1, comp[0])
				}
			}
		}}}, rfp.ServerConfig{})
	})
}

// suffer lets the server suffer attacks one after the other. After each it and
// its good client are well, and nothing is left of the attacker.
func (r *rig) suffer(t *testing.T, attacks []attack, cfg rfp.ServerConfig) {
	running := goleak.IgnoreCurrent()
	t.Cleanup(func() { cachetest.NoLeaks(t, running) }) // behind the closing of devices
	log := &logbook{}
	cfg.Log = log.logger()
	s := r.serve(cfg)
	w := r.witness()
	w.check(t)
	for _, a := range attacks {
		before, logged := s.Stats(), len(log.String())
		c := r.raw(a.hello)
		await(t, a.name+": the session", func() bool { return s.Stats().Connects > before.Connects })
		if a.do(c); c.dev != nil {
			c.wake() // or the server does not look
		}
		w.check(t)
		switch a.ends {
		case isCut, isLost:
			c.awaitEnd(a.name)
		case stays:
			if !c.connected() {
				t.Errorf("%s: the connection ended: %v", a.name, c.qp.Err())
			}
			c.leave()
		case ended:
		}
		await(t, a.name+": the end of the session", func() bool { return s.Stats().Disconnects > before.Disconnects })
		w.check(t)
		after := s.Stats()
		if after.Clients != before.Clients || after.Memory > before.Memory+64<<10 {
			t.Errorf("%s: before %+v, after %+v", a.name, before, after)
		}
		cut, lost := after.Cut-before.Cut, after.Lost-before.Lost
		if a.ends == isCut && cut != 1 || a.ends == isLost && lost != 1 || cut+lost > 1 || a.ends == stays && cut+lost != 0 {
			t.Errorf("%s: %d were cut off and %d lost; log: %s", a.name, cut, lost, log.String()[logged:])
		}
		if got := log.String()[logged:]; !strings.Contains(got, a.log) {
			t.Errorf("%s: the log does not say %q: %s", a.name, a.log, got)
		}
		c.vanish()
	}
	_ = w.c.Close()
	_ = s.Close()
}

// A frame that changes while it is served is served as it was copied, once.
func TestFramesThatChangeWhileServed(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		s := r.serve(rfp.ServerConfig{})
		w := r.witness()
		c := r.raw(nil)
		texts := [][]byte{bytes.Repeat([]byte("a"), 1500), bytes.Repeat([]byte("b"), 1500)}
		for n := uint64(1); n < 100; n++ {
			for i := range 4 { // the same frame again and again, with other bytes
				c.write(c.slotOf(n), c.sealed(n, entries(request(procEcho, texts[i&1])), wire.Word1{Entries: 1, Taken: uint32(n - 1)}))
			}
			got := c.awaitAnswer(n)
			if e, rest, _, err := wire.NextEntry(got); err != nil || len(rest) != 0 || len(e) != 1500 {
				t.Fatalf("answer %d: %d bytes, %v", n, len(e), err)
			}
			if n%20 == 0 {
				w.check(t)
			}
		}
		if st := s.Stats(); st.Cut+st.Lost != 0 || st.Clients != 2 {
			t.Errorf("%+v", st)
		}
	})
}

// greetings that must be refused with a reason.
func badGreetings() map[string][]byte {
	hello := func(change func(h *wire.Hello)) []byte {
		h := goodHello()
		change(&h)
		return h.Append(nil)
	}
	version := hello(func(*wire.Hello) {})
	version[2] = 99
	return map[string][]byte{
		"does not speak":      []byte("GET / HTTP/1.1\r\nHost: somewhere.net\r\n"),
		"version 99":          version,
		"greeting of 10":      hello(func(*wire.Hello) {})[:10],
		"window 0, ":          hello(func(h *wire.Hello) { h.Window = 0 }),
		"window 4, results 7": hello(func(h *wire.Hello) { h.Results = 7 }),
		"results 0":           hello(func(h *wire.Hello) { h.Results = 0 }),
		"window 32768, ":      hello(func(h *wire.Hello) { h.Window, h.Results = 1<<15, 0 }),
		"window 32769, ":      hello(func(h *wire.Hello) { h.Window, h.Results = 1<<15+1, 2 }),
		"window 65535, ":      hello(func(h *wire.Hello) { h.Window, h.Results = 1<<16-1, 1<<16-1 }),
		"payload 0":           hello(func(h *wire.Hello) { h.Payload = 0 }),
		"payload 255":         hello(func(h *wire.Hello) { h.Payload = 255 }),
		"core 1 wanted":       hello(func(h *wire.Hello) { h.Core = 1 }),
		"core 65534 wanted":   hello(func(h *wire.Hello) { h.Core = 65534 }),
	}
}

func TestHostileGreetings(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		log := &logbook{}
		s := r.serve(rfp.ServerConfig{Log: log.logger()})
		w := r.witness()
		w.check(t)
		for says, greeting := range badGreetings() {
			c := r.newRaw()
			err := c.connect(r.Addr, fabric.RC, greeting)
			var rejected *fabric.RejectedError
			if !errors.As(err, &rejected) || !strings.Contains(string(rejected.Private), says) {
				t.Errorf("greeting %x: %v, want a refusal that says %q", greeting, err, says)
			}
			if !log.says(says) {
				t.Errorf("the log does not say %q", says)
			}
			c.vanish()
		}
		c := r.newRaw()
		if c.dev.Limits().UC {
			h := goodHello()
			if err := c.connect(r.Addr, fabric.UC, h.Append(nil)); err == nil {
				t.Error("a connection over UC was accepted")
			}
		}
		w.check(t)
		if st := s.Stats(); st.Clients != 1 || st.Connects != 1 {
			t.Errorf("%+v", st)
		}
	})
}

// A client that wants more than the server allows gets what the server allows.
func TestGreedyGreeting(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		s := r.serve(rfp.ServerConfig{Window: 2, Payload: 512})
		c := r.raw(func(_ *rawClient, h *wire.Hello) { h.Window, h.Results, h.Payload = 30_000, 60_000, 1<<32-1 })
		if w := &c.welcome; w.Window != 2 || w.Results != 4 || w.Payload != 512 {
			t.Errorf("%+v", w)
		}
		c.send(someCall, one)
		c.awaitAnswer(1)
		if m := s.Stats().Memory; m > 8192 {
			t.Errorf("%d bytes for a session of 2 + 4 slots of 512 bytes", m)
		}
	})
}

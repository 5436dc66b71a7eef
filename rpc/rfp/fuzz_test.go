package rfp_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/rpc/rfp"
	"github.com/remora-kv/remora/rpc/wire"
)

// script is the bytes of an input, read as commands.
type script struct{ b []byte }

func (s *script) byte() byte {
	if len(s.b) == 0 {
		return 0
	}
	v := s.b[0]
	s.b = s.b[1:]
	return v
}

func (s *script) number() int { return int(s.byte()) | int(s.byte())<<8 }

func (s *script) take(n int) []byte {
	n = min(n, len(s.b))
	v := s.b[:n]
	s.b = s.b[n:]
	return v
}

// maxCommands bounds the time of one input.
const maxCommands = 40

// FuzzRequestMemory has a raw client scribble into its request memory what the
// input says. The server goes on to serve a good client, and forgets the raw one.
func FuzzRequestMemory(f *testing.F) {
	f.Add([]byte{0, 1, 0, 9, 0, 5, 0, 0, 0, 1, 0, 'h', 'i', '!', 4, 4})
	f.Add([]byte{0, 2, 0, 20, 0, 3, 0, 0, 0x40, 1, 0, 'a', 0, 1, 0, 20, 0, 1, 0, 0, 0, 'b', 4, 3})
	f.Add([]byte{1, 0, 2, 16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 4})
	f.Add([]byte{2, 255, 2, 2, 0, 1, 0, 9, 0, 5, 0, 0, 0, 1, 0, 'h', 'i', '!', 3, 100, 0, 4, 5})
	f.Add([]byte{0, 255, 255, 200, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 6, 1, 1, 7, 4})
	r := newRig(f, provider.Loop)
	handleBlow(r)
	s := r.serve(rfp.ServerConfig{MaxMessage: 8192, Bulk: 32 << 10})
	w := r.witness()
	f.Fuzz(func(t *testing.T, input []byte) {
		r.t, w.r.t = t, t
		c := r.raw(nil)
		in := &script{input}
		for range maxCommands {
			if len(in.b) == 0 || !c.connected() {
				break
			}
			c.obey(in)
		}
		c.leaveNow()
		w.check(t)
		await(t, "the end of the raw client", func() bool { return s.Stats().Clients == 1 })
		if st := s.Stats(); st.Memory > 1<<20 {
			t.Errorf("%+v", st)
		}
	})
}

// obey does one thing that a client should not, or should.
func (c *rawClient) obey(in *script) {
	switch in.byte() % 8 {
	case 0: // a frame as it should be, with any bytes for entries
		entries := uint16(in.number())
		payload := in.take(in.number() % 2049)
		c.send(payload, wire.Word1{Entries: entries, Taken: uint32(in.byte())})
	case 1: // any bytes anywhere
		at := in.number() % (rawSlots + 4*2048)
		c.write(at, in.take(in.number()%4096))
	case 2: // modes
		c.write(rawModes+int(in.byte()), in.take(int(in.byte())))
	case 3: // results taken
		c.write(rawTaken, in.take(8))
	case 4:
		c.wake()
	case 5: // a frame twice, or of another time
		c.number -= min(uint64(in.byte()%3), c.number-1)
	case 6: // a large answer
		c.send(entries(blow(in.number())), wire.Word1{Entries: 1, Taken: uint32(in.byte())})
	case 7: // a header that lies, before a good tail
		c.sendWord(wire.MakeWord0(c.number, in.number(), uint16(in.number())), in.take(64))
	}
}

// leaveNow leaves, whatever state the connection is in.
func (c *rawClient) leaveNow() {
	_ = c.qp.Close()
	c.vanish()
}

// FuzzAnswerMemory has a raw server put into its answer memory what the input
// says. The client gets something, or an error of the protocol, or nothing until
// its time is over; it does not panic and does not hang.
func FuzzAnswerMemory(f *testing.F) {
	f.Add([]byte{0, 5, 0, 1, 0, 0, 0, 'x', 1})
	f.Add([]byte{0, 9, 0, 1, 0, 0, 0x40, 'x', 0, 0, 0, 0x80, 0})
	f.Add([]byte{1, 0, 0, 20, 0, 255, 255, 255, 255, 255, 255, 255, 255, 1, 2, 3})
	f.Add([]byte{2, 0, 2, 1, 0, 4, 0, 0, 0, 0, 0, 1, 3, 44, 1, 1})
	r := newRig(f, provider.Loop)
	s := r.rawServer()
	f.Fuzz(func(t *testing.T, input []byte) {
		s.clear()
		dev, err := r.set.Open(provider.Loop)
		if err != nil {
			t.Fatal(err)
		}
		defer dev.Close()
		r.addr = s.addr
		mode := rfp.Fetch
		if len(input)%2 == 1 {
			mode = rfp.Reply
		}
		c, err := r.tryDial(dev, rfp.ConnConfig{Batch: 2, Params: rfp.Params{Pinned: true, Mode: mode}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		qp := <-s.accepted
		defer qp.Close()
		if _, err := qp.PostRecv(make([]fabric.RecvWR, 64)); err != nil {
			t.Fatal(err)
		}
		in := &script{input}
		n := uint64(1)
		for range maxCommands {
			if c.Err() != nil || len(in.b) == 0 {
				break
			}
			_ = c.Send(1, request(procEcho, []byte("a")))
			_ = c.Send(1, request(procEcho, bytes.Repeat([]byte("b"), in.number()%2000)))
			n = s.obey(in, n)
			takeAll(c)
		}
	})
}

// obey tells one lie, or the truth.
func (s *rawServer) obey(in *script, n uint64) uint64 {
	last := true
	switch in.byte() % 5 {
	case 4:
		last = false
		fallthrough
	case 0: // a frame as it should be, with any bytes for entries
		s.frame(n, in.take(in.number()%(rawPayload+1)), last)
		return n + 1
	case 1: // any bytes anywhere
		at := in.number() % len(s.answers.Bytes())
		b := in.take(in.number())
		s.put(at, b[:min(len(b), len(s.answers.Bytes())-at)])
	case 2:
		s.putWord(int((n-1)%rawResults)*rawStride, wire.ParkedWord0(n))
	case 3: // a size that lies
		s.putWord(int((n-1)%rawResults)*rawStride, wire.MakeWord0(n, in.number(), 1<<15))
		return n + uint64(in.byte()&1)
	}
	return n
}

// takeAll takes results while they come.
func takeAll(c *rfp.Conn) {
	for c.Wait(100 * time.Microsecond) {
		if _, err, ok := c.Next(); !ok || err != nil && len(err.Error()) > 1<<20 {
			return
		}
	}
}

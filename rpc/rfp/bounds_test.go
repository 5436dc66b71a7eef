package rfp_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/rfp"
	"github.com/remora-kv/remora/rpc/wire"
)

// procBlow returns as many bytes as its argument says.
const procBlow uint16 = 60

func handleBlow(r *rig) {
	large := pattern(4<<20, 5)
	r.mux.Handle(procBlow, func(c *rpc.Call, out []byte) ([]byte, error) {
		return append(out, large[:binary.LittleEndian.Uint32(c.Request)]...), nil
	})
}

func blow(n int) []byte { return request(procBlow, binary.LittleEndian.AppendUint32(nil, uint32(n))) }

// I8: a client that takes no results makes the server keep one answer, and of
// that one no more than MaxMessage and what fits the ring. Stats tell.
func TestAnswersThatNobodyTakesAreBounded(t *testing.T) {
	const maxMessage = 256 << 10
	for _, calls := range []struct{ number, size int }{
		{1, maxMessage}, {200, maxMessage}, {200, maxMessage - 1}, {200, 3000}, {200, maxMessage/2 + 1}, {200, 0}, {1, maxMessage + 1},
	} {
		eachFabric(t, func(t *testing.T, r *rig) {
			handleBlow(r)
			s := r.serve(rfp.ServerConfig{MaxMessage: maxMessage})
			w := r.witness()
			w.check(t)
			before := s.Stats()
			c := r.raw(nil)
			await(t, "the session", func() bool { return s.Stats().Clients == 2 })
			rings := s.Stats().Memory
			for range c.welcome.Window {
				c.send(bytes.Repeat(entries(blow(calls.size)), calls.number), wire.Word1{Entries: uint16(calls.number)})
			}
			c.wake()
			await(t, "calls of the raw client", func() bool { return s.Stats().Calls > before.Calls })
			w.check(t)
			w.check(t)
			if st := s.Stats(); st.Memory > rings+maxMessage+64<<10 {
				t.Errorf("%d calls of %d bytes in a frame: %d bytes beside the rings", calls.number, calls.size, st.Memory-rings)
			}
			c.leave()
			await(t, "the end of the session", func() bool { st := s.Stats(); return st.Clients == 1 && st.Memory <= before.Memory })
		})
	}
}

// I8: half a message is kept, and reported, up to MaxMessage.
func TestMessagesWithoutEndAreBounded(t *testing.T) {
	const maxMessage = 100_000
	eachFabric(t, func(t *testing.T, r *rig) {
		log := &logbook{}
		s := r.serve(rfp.ServerConfig{MaxMessage: maxMessage, Log: log.logger()})
		w := r.witness()
		w.check(t)
		c := r.raw(nil)
		part := entry(pattern(2000, 1), wire.More)
		rings := 0
		for n := uint64(1); n <= maxMessage/2000; n++ {
			c.send(part, wire.Word1{Taken: uint32(n - 1)})
			if c.awaitAnswer(n); n == 1 {
				rings = s.Stats().Memory
			}
		}
		if m := s.Stats().Memory - rings; m < maxMessage/2 || m > 2*maxMessage {
			t.Errorf("half a message of %d bytes is reported as %d", maxMessage, m)
		}
		w.check(t)
		c.send(part, wire.Word1{})
		c.wake()
		c.awaitEnd("a message without end")
		await(t, "the end of the session", func() bool { return s.Stats().Clients == 1 })
		if st := s.Stats(); st.Cut != 1 || !log.says("request longer than 100000 bytes") {
			t.Errorf("%+v; log: %v", st, log)
		}
		w.check(t)
	})
}

// Parts of no bytes cost nothing, however many there are.
func TestEmptyParts(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.serve(rfp.ServerConfig{})
		c := r.raw(nil)
		for n := uint64(1); n < 20; n++ {
			c.send(bytes.Repeat(entry(nil, wire.More), 500), wire.Word1{Taken: uint32(n - 1)})
			c.awaitAnswer(n)
		}
		c.send(someCall, wire.Word1{Taken: 19, Entries: 1})
		if e, _, _, err := wire.NextEntry(c.awaitAnswer(20)); err != nil || string(e) != "hello" {
			t.Errorf("%q, %v", e, err)
		}
	})
}

// A client that lets a full ring of results lie for a while, during which the
// server goes to sleep, is served when it comes back (I4).
func TestSleepWithFullRing(t *testing.T) {
	for _, mode := range []rfp.Mode{rfp.Fetch, rfp.Reply} {
		eachFabric(t, func(t *testing.T, r *rig) {
			handleBlow(r)
			r.serve(rfp.ServerConfig{PushAbove: 1 << 20})
			c := r.dial(rfp.ConnConfig{Window: 4, Params: rfp.Params{Pinned: true, Mode: mode}})
			// Window 4 has 8 slots for results: one answer fills them all.
			if err := c.Send(0, blow(7*2044+1000)); err != nil {
				t.Fatal(err)
			}
			<-time.After(30 * time.Millisecond) // the server falls asleep
			if !c.Wait(patience) {
				t.Fatal(c.Err())
			}
			if got, err, _ := c.Next(); err != nil || len(got) != 7*2044+1000 {
				t.Fatalf("%d bytes, %v", len(got), err)
			}
			if err := c.Send(0, request(procEcho, []byte("awake?"))); err != nil {
				t.Fatal(err)
			}
			if !c.Wait(patience) {
				t.Fatalf("%v: the server sleeps and the client does not ring: %v, %+v", mode, c.Err(), c.Stats())
			}
		})
	}
}

// A call with a message that needs many frames ends with its context, though the
// server does not make room for them.
func TestLargeCallGivesUpWithItsContext(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		gate := make(chan struct{})
		r.mux.Handle(50, func(_ *rpc.Call, out []byte) ([]byte, error) { <-gate; return out, nil })
		r.serve(rfp.ServerConfig{})
		c := r.client(rfp.ConnConfig{})
		first := c.Go(50, nil, nil)
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		over := make(chan error, 1)
		go func() {
			_, err := c.Call(ctx, procEcho, make([]byte, 200_000), nil)
			over <- err
		}()
		select {
		case err := <-over:
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the call ended with %v", err)
			}
		case <-time.After(patience):
			t.Error("the call hangs in spite of its context")
		}
		close(gate)
		if _, err := first.Wait(context.Background()); err != nil {
			t.Error(err)
		}
		// The message of the call that was given up goes its way, whole.
		arg := pattern(100_000, 3)
		if got, err := c.Call(context.Background(), procEcho, arg, nil); err != nil || !bytes.Equal(got, arg) {
			t.Errorf("the call after it: %d bytes, %v", len(got), err)
		}
	})
}

// Close ends a server that is never idle.
func TestCloseUnderLoad(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		s := r.serve(rfp.ServerConfig{})
		flood := make(chan struct{})
		c := r.client(rfp.ConnConfig{Window: 16})
		for range 4 {
			go func() {
				for {
					if _, err := c.Call(context.Background(), procEcho, []byte("again"), nil); err != nil {
						flood <- struct{}{}
						return
					}
				}
			}()
		}
		await(t, "load", func() bool { return s.Stats().Calls > 100 })
		closed := make(chan error, 1)
		go func() { closed <- s.Close() }()
		select {
		case err := <-closed:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(patience):
			t.Error("Close hangs as long as there are calls")
			_ = c.Close()
			<-closed
		}
		for range 4 {
			<-flood
		}
	})
}

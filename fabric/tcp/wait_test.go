package tcp

import (
	"math"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/test/scale"
)

func (e *end) waiter(cfg fabric.WaitConfig) *waiter {
	e.tb.Helper()
	cfg.CQs = []fabric.CQ{e.cq}
	w, err := e.dev.NewWaiter(cfg)
	if err != nil {
		e.tb.Fatal(err)
	}
	e.tb.Cleanup(func() { _ = w.Close() })
	got, ok := w.(*waiter)
	if !ok {
		e.tb.Fatalf("NewWaiter made a %T", w)
	}
	return got
}

// TestIdle checks that a device without work does nothing: neither its thread
// nor a waiter looks more than a few times while a long time passes.
func TestIdle(t *testing.T) {
	a, b := newPair(t, fabric.RC)
	// First there is work, with owners that poll, so that the ports are left
	// to them.
	for range 1000 {
		b.post(fabric.WR{Op: fabric.OpRead, Local: b.mem.Seg(0, 64), Remote: a.mem.Remote(), Flags: fabric.FlagSignaled})
		b.ok(1, a)
	}
	w := b.waiter(fabric.WaitConfig{})
	counts := func() [3]uint64 {
		return [3]uint64{w.Sleeps(), a.dev.nic.blocks.Load() + b.dev.nic.blocks.Load(), a.dev.nic.rounds.Load() + b.dev.nic.rounds.Load()}
	}
	// On a busy machine the threads may come to the end of their work late, but they do.
	var did [3]uint64
	for end := a.dev.clock.Now() + int64(patience); a.dev.clock.Now() < end; {
		before := counts()
		w.Wait(func() bool { return false }, 300*time.Millisecond)
		did = counts()
		for i := range did {
			did[i] -= before[i]
		}
		if did[0] <= 2 && did[1] <= 8 && did[2] == 0 {
			return
		}
	}
	t.Errorf("idle for 300 ms: the waiter slept %d times, the threads blocked %d times and looked %d times", did[0], did[1], did[2])
}

// TestBusyNeverSleeps checks the policy.
func TestBusyNeverSleeps(t *testing.T) {
	a, _ := newPair(t, fabric.RC)
	w := a.waiter(fabric.WaitConfig{Policy: fabric.Busy})
	if w.Wait(func() bool { return false }, 5*time.Millisecond) || w.Sleeps() != 0 {
		t.Errorf("slept %d times", w.Sleeps())
	}
	w.Wake()
	if w.Wait(func() bool { return false }, 0) {
		t.Error("Wake did not end the wait")
	}
}

// TestNoWakeUpLost has two ends that sleep at once whenever they can exchange
// messages: each completion arrives at another moment of falling asleep (G17).
func TestNoWakeUpLost(t *testing.T) {
	a, b := newPair(t, fabric.RC)
	rounds := 3000
	if scale.Race || testing.Short() {
		rounds = 500
	}
	var slept atomic.Uint64
	play := func(e *end, first bool, done chan<- struct{}) {
		defer close(done)
		w := e.waiter(fabric.WaitConfig{Spin: time.Nanosecond})
		e.recv(0, 0, 64)
		if first {
			e.post(fabric.WR{Op: fabric.OpSend, Local: e.mem.Seg(64, 64)})
		}
		for i := range rounds {
			got := w.Wait(func() bool {
				n := e.cq.Poll(e.buf[:])
				for _, c := range e.buf[:n] {
					if c.Op == fabric.OpRecv && c.Status == fabric.StatusOK {
						return true
					}
				}
				return false
			}, patience)
			if !got {
				t.Errorf("no message in round %d", i)
				return
			}
			e.recv(0, 0, 64)
			for range i % 64 {
				runtime.Gosched() // meanwhile the other end falls asleep
			}
			if i < rounds-1 || !first {
				wr := fabric.WR{Op: fabric.OpSend, Local: e.mem.Seg(64, 64)}
				if i%16 == 0 {
					wr.Flags = fabric.FlagSignaled
				}
				e.post(wr)
			}
		}
		slept.Add(w.Sleeps())
	}
	d1, d2 := make(chan struct{}), make(chan struct{})
	go play(a, false, d1)
	go play(b, true, d2)
	<-d1
	<-d2
	if slept.Load() < uint64(rounds)/4 {
		t.Errorf("only %d sleeps in %d rounds: the test does not test", slept.Load(), rounds)
	}
}

// TestFallingAsleep checks that a completion which comes before any step of falling asleep is
// found by the last look or ends the sleep (G17).
func TestFallingAsleep(t *testing.T) {
	e := newEnd(t, newDevice(t, Config{Name: "a"}), fabric.RC, 64, 1<<12)
	defer e.close()
	c, _ := e.cq.(*cq)
	for _, step := range []string{"before", "BeforeSleep", "poll"} {
		come := func(at string) {
			if at == step {
				c.push(&entry{q: new(queues)}, true)
			}
		}
		looks := 0
		w := e.waiter(fabric.WaitConfig{BeforeSleep: func() { come("BeforeSleep") }})
		come("before")
		hit := w.sleep(func() bool {
			looks++
			n := e.cq.Poll(e.buf[:])
			if come("poll"); n == 0 && len(w.woken) == 0 {
				t.Errorf("before %s: neither found nor woken", step)
				w.signal()
			}
			return n != 0
		}, math.MaxInt64)
		if looks != 1 || hit == (step == "poll") {
			t.Errorf("before %s: found %t after %d looks", step, hit, looks)
		}
		e.cq.Poll(e.buf[:])
	}
}

// TestPolledPortIsLeftAlone checks that the background thread does not wake for
// each arrival while the owner polls (I4).
func TestPolledPortIsLeftAlone(t *testing.T) {
	a, b := newPair(t, fabric.RC)
	const rounds = 5000
	before := b.dev.nic.blocks.Load()
	start := b.dev.clock.Now()
	for range rounds {
		b.post(fabric.WR{Op: fabric.OpRead, Local: b.mem.Seg(0, 64), Remote: a.mem.Remote(), Flags: fabric.FlagSignaled})
		for b.cq.Poll(b.buf[:]) == 0 {
			runtime.Gosched() // the target may have no other processor
		}
	}
	ticks := uint64((b.dev.clock.Now()-start)/int64(yieldTime)) + 1
	if blocks := b.dev.nic.blocks.Load() - before; blocks > 4*ticks+16 {
		t.Errorf("the background thread blocked %d times during %d round trips in %d ms of polling", blocks, rounds, ticks)
	}
}

// TestPutOffAckArrives checks that an ACK that was put off is sent when the
// owner does not poll again (I5).
func TestPutOffAckArrives(t *testing.T) {
	a, b := newPair(t, fabric.RC)
	for i := range 50 {
		for range 8 {
			a.recv(0, 0, 64)
		}
		// a polls for a while, so that its port is left to it, and then stops
		// after the message is there.
		b.post(fabric.WR{ID: uint64(i), Op: fabric.OpSend, Local: b.mem.Seg(0, 64), Flags: fabric.FlagSignaled})
		a.take(1)
		b.ok(1) // with nobody polling a
		for range 7 {
			b.post(fabric.WR{Op: fabric.OpSend, Local: b.mem.Seg(0, 64), Flags: fabric.FlagSignaled})
		}
		a.take(7, b)
		for len(b.done) < 7 {
			a.poll()
			b.poll()
		}
		b.done = b.done[:0]
	}
}

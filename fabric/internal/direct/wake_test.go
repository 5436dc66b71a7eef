package direct

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/test/scale"
)

// TestNoLostWakeup plays ping-pong between two threads that fall asleep at
// once and pause at random, so that every interleaving of falling asleep and
// ringing comes up. Sleeps end by themselves after maxSleep; none may have to.
func TestNoLostWakeup(t *testing.T) {
	const rounds = 4000
	// On one processor each would yield to the other, and find that it is done.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(4, runtime.GOMAXPROCS(0))))
	seed := scale.Seed(t)
	t.Logf("seed %#x", seed)
	for _, solicited := range []bool{false, true} {
		sleeps := uint64(0)
		// Where both threads have to share a processor one mostly finds that the other is
		// done: then it takes longer.
		for match := uint64(0); sleeps < rounds/10 && match < 60 && !t.Failed(); match++ {
			sleeps += pingPong(t, rounds, solicited, seed+match)
		}
		if sleeps < rounds/10 && !t.Failed() {
			t.Errorf("only %d sleeps: nothing was tested", sleeps)
		}
	}
}

// pingPong plays n rounds, and returns how often the players slept.
func pingPong(t *testing.T, rounds int, solicited bool, seed uint64) uint64 {
	t.Helper()
	a, b, _ := newPair(t, fabric.QPConfig{RNRTimeout: fabric.RNRForever, RecvDepth: 1})
	done := make(chan uint64, 2)
	play := func(e *end, first bool, rnd *rand.Rand) {
		w, err := e.core.NewWaiter(fabric.WaitConfig{
			CQs: []fabric.CQ{e.cq}, Spin: time.Nanosecond, SolicitedOnly: solicited,
		})
		if err != nil {
			t.Error(err)
			done <- 0
			return
		}
		defer func() { _ = w.Close() }()
		p := &player{t: t, e: e, rnd: rnd}
		p.w, _ = w.(*Waiter)
		p.run(rounds, first)
		if n := p.w.LateWakes(); n != 0 {
			t.Errorf("%d wake-ups were lost (solicited only: %v)", n, solicited)
		}
		done <- p.w.Sleeps()
	}
	go play(a, true, rand.New(rand.NewPCG(seed, 1)))
	go play(b, false, rand.New(rand.NewPCG(seed, 2)))
	return <-done + <-done
}

type player struct {
	t   *testing.T
	e   *end
	w   *Waiter
	rnd *rand.Rand
}

func (p *player) run(rounds int, first bool) {
	for range rounds {
		if first && !(p.send() && p.receive()) || !first && !(p.receive() && p.send()) || p.w.LateWakes() != 0 {
			_ = p.e.qp.Disconnect() // and the other stops waiting
			return
		}
	}
}

func (p *player) pause() { fence.PauseN(int(p.rnd.ExpFloat64() * 100)) }

func (p *player) send() bool {
	p.pause()
	if _, err := p.e.qp.Post([]fabric.WR{{Op: fabric.OpSend, Flags: fabric.FlagSignaled | fabric.FlagSolicited}}); err != nil {
		p.t.Error(err)
	}
	return p.await(fabric.OpSend)
}

func (p *player) receive() bool {
	p.pause()
	if _, err := p.e.qp.PostRecv(make([]fabric.RecvWR, 1)); err != nil {
		p.t.Error(err)
	}
	return p.await(fabric.OpRecv)
}

func (p *player) await(op fabric.Op) bool {
	var out [1]fabric.Completion
	if !p.w.Wait(func() bool { return p.e.cq.Poll(out[:]) == 1 }, 2*time.Minute) {
		p.t.Errorf("no completion of %v", op)
		return false
	}
	if out[0].Op != op || out[0].Status != fabric.StatusOK {
		p.t.Errorf("%v ended as %v, want %v", out[0].Op, out[0].Status, op)
		return false
	}
	return true
}

// moments are the steps of falling asleep that something can come before.
var moments = []string{"Arm", "BeforeSleep", "poll", "Pending", "block"}

// stepped is a waiter that says which step comes next.
type stepped struct {
	*Waiter
	before func(step string)
}

func (s *stepped) Arm() int64 {
	s.before("Arm")
	return s.Waiter.Arm()
}

func (s *stepped) Pending() bool {
	s.before("Pending")
	defer s.before("block")
	return s.Waiter.Pending()
}

// news is what a waiter of a must not sleep over.
type news struct {
	name          string
	prepare, come func(a, b *end) error
	last          string                // the last step that it can come before
	polled        bool                  // nothing but a poll of the queue makes it progress
	after         func(a, b *end) error // it goes on when the last step begins
}

var allNews = []news{
	{"message", recvOne, func(_, b *end) error { return sendOne(b) }, "block", false, nothing},
	{"room", func(a, _ *end) error { return sendOne(a) }, func(_, b *end) error { return recvOne(b, nil) }, "block", true, nothing},
	{"disconnect", recvOne, func(_, b *end) error { return b.qp.Disconnect() }, "block", false, nothing},
	// The owner itself does these, in functions that the waiter calls.
	{"own send", func(_, b *end) error { return recvOne(b, nil) }, func(a, _ *end) error { return sendOne(a) }, "poll", false, nothing},
	{"new source", nothing, recvOne, "poll", false, func(_, b *end) error { return sendOne(b) }},
}

func nothing(*end, *end) error { return nil }

func recvOne(e, _ *end) error {
	_, err := e.qp.PostRecv(make([]fabric.RecvWR, 1))
	return err
}

func sendOne(e *end) error {
	_, err := e.qp.Post([]fabric.WR{{Op: fabric.OpSend, Flags: fabric.FlagSignaled | fabric.FlagSolicited}})
	return err
}

// Whatever comes before any step of falling asleep, the waiter finds it or is woken (G17), also
// one whose owner looks elsewhere at first.
func TestEveryStepOfFallingAsleep(t *testing.T) {
	for _, n := range allNews {
		for _, moment := range moments[:slices.Index(moments, n.last)+1] {
			for _, solicited := range []bool{false, true} {
				for _, blind := range []bool{false, true} {
					if blind && n.polled {
						continue
					}
					name := fmt.Sprintf("%s before %s, solicited only %t, blind %t", n.name, moment, solicited, blind)
					fallAsleep(t, name, moment, solicited, blind, n)
				}
			}
		}
	}
}

func fallAsleep(t *testing.T, name, moment string, solicited, blind bool, n news) {
	t.Helper()
	a, b, _ := newPair(t, fabric.QPConfig{RNRTimeout: fabric.RNRForever, RecvDepth: 1})
	if err := n.prepare(a, b); err != nil {
		t.Fatal(name, err)
	}
	came := 0
	before := func(step string) {
		var err error
		if step == moment {
			came++
			err = n.come(a, b)
		}
		if step == "block" {
			err = errors.Join(err, n.after(a, b))
		}
		if err != nil {
			t.Error(name, err)
		}
	}
	cfg := fabric.WaitConfig{CQs: []fabric.CQ{a.cq}, SolicitedOnly: solicited, BeforeSleep: func() { before("BeforeSleep") }}
	made, err := a.core.NewWaiter(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w, _ := made.(*Waiter)
	_ = w.Close()
	if err := w.Init(a.core.clock, &cfg, spinBurst, yields, 0, &stepped{w, before}, a.cq.Pipe.FD()); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	looks, found := 0, false
	poll := func() bool {
		if looks++; looks == 1 {
			before("poll")
			if blind {
				return false
			}
		}
		var out [1]fabric.Completion
		found = found || a.cq.Poll(out[:]) == 1
		return found
	}
	if w.Sleep(poll, math.MaxInt64); w.LateWakes() != 0 || came != 1 {
		t.Errorf("%s: %d wake-ups were lost; it came %d times", name, w.LateWakes(), came)
	}
	if looks++; !poll() {
		t.Errorf("%s: it is not found afterwards", name)
	}
}

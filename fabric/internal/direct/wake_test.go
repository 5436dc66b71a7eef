package direct

import (
	"math/rand/v2"
	"runtime"
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

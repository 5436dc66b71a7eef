package faults_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/faults"
)

// statuses returns the statuses of completions.
func statuses(cs []fabric.Completion) []fabric.Status {
	var out []fabric.Status
	for _, c := range cs {
		out = append(out, c.Status)
	}
	return out
}

// brokeWith checks how the two ends of a rig broke and that everything else was
// flushed, in order.
func (g *rig) brokeWith(status fabric.Status, want error) {
	g.t.Helper()
	g.await("the peer to break", func() bool {
		return g.r.qp.State() == fabric.StateError && len(g.r.fell)+len(g.r.got) >= inbox
	})
	if g.s.qp.State() != fabric.StateError || !errors.Is(g.s.qp.Err(), want) {
		g.t.Errorf("state %v, error %v, want %v", g.s.qp.State(), g.s.qp.Err(), want)
	}
	if !errors.Is(g.r.qp.Err(), fabric.ErrDisconnected) {
		g.t.Errorf("the peer's error is %v", g.r.qp.Err())
	}
	for _, q := range []fabric.QP{g.s.qp, g.r.qp} {
		select {
		case <-q.Done():
		default:
			g.t.Error("Done is open")
		}
	}
	failed := 0
	for i, c := range g.s.sent {
		if c.ID != uint64(i) {
			g.t.Fatalf("completion %d is of request %d", i, c.ID)
		}
		switch {
		case c.Status == fabric.StatusOK && failed > 0:
			g.t.Errorf("request %d succeeded after a failure", i)
		case c.Status == fabric.StatusFlushed && failed == 0, c.Status == status && failed > 0:
			g.t.Errorf("request %d: %v", i, c.Status)
		case c.Status != fabric.StatusOK:
			failed++
		}
	}
	if failed == 0 {
		g.t.Error("nothing failed")
	}
}

// TestBreak: the struck request fails with the status of the plan and is not
// executed, those before it succeed, those behind it are flushed though they
// were posted in the same chain or later.
func TestBreak(t *testing.T) {
	for _, c := range []struct {
		text string
		op   fabric.Op
		want fabric.Status
		err  error
	}{
		{"lost", fabric.OpSend, fabric.StatusPeerLost, fabric.ErrPeerLost},
		{"rnr", fabric.OpSend, fabric.StatusRNRExceeded, fabric.ErrCompletion},
		{"rnr", fabric.OpWrite, fabric.StatusPeerLost, fabric.ErrPeerLost},
		{"access", fabric.OpWrite, fabric.StatusRemoteAccess, fabric.ErrCompletion},
		{"access", fabric.OpSend, fabric.StatusPeerLost, fabric.ErrPeerLost},
		{"access", fabric.OpRead, fabric.StatusRemoteAccess, fabric.ErrCompletion},
		{"rnr", fabric.OpWriteImm, fabric.StatusRNRExceeded, fabric.ErrCompletion},
	} {
		for _, tr := range []fabric.Transport{fabric.RC, fabric.UC} {
			if !tr.Allows(c.op) {
				continue
			}
			t.Run(fmt.Sprintf("%v/%s/%v", tr, c.text, c.op), func(t *testing.T) {
				g := newRig(t, tr, fmt.Sprintf("%v.break=%s@op=3", tr, c.text))
				var chain []fabric.WR
				for i := range 6 {
					w := g.s.message(c.op, i)
					if i != 1 {
						w.Flags = 0
					}
					chain = append(chain, w)
				}
				if n, err := g.s.qp.Post(chain); n != 6 || err != nil {
					t.Fatal(n, err)
				}
				g.await("the failure", func() bool { return len(g.s.sent) >= 4 })
				g.s.next = 6
				g.s.post(c.op, 0)
				g.turn()
				// Unsignaled requests that succeeded say nothing, those that
				// failed do (G10).
				want := []fabric.Status{
					fabric.StatusOK, c.want, fabric.StatusFlushed, fabric.StatusFlushed, fabric.StatusFlushed,
				}
				if got := statuses(g.s.sent); !slices.Equal(got, want) {
					t.Fatalf("statuses %v, want %v", got, want)
				}
				for i, id := range []uint64{1, 3, 4, 5, 6} {
					if g.s.sent[i].ID != id || g.s.sent[i].Op != c.op {
						t.Errorf("completion %+v, want of request %d", g.s.sent[i], id)
					}
				}
				if !errors.Is(g.s.qp.Err(), c.err) || g.s.qp.State() != fabric.StateError {
					t.Errorf("state %v, error %v", g.s.qp.State(), g.s.qp.Err())
				}
				g.await("the peer", func() bool { return len(g.r.fell) > 0 })
				if c.op == fabric.OpWrite && binary.LittleEndian.Uint64(g.r.reg.Bytes()[writeAt+3*8:]) != 0 {
					t.Error("the struck WRITE was executed")
				}
			})
		}
	}
}

// TestBreakDatagrams: a datagram queue pair breaks by itself; nobody else notices.
func TestBreakDatagrams(t *testing.T) {
	g := newRig(t, fabric.UD, "ud.break@op=2")
	for range 4 {
		g.s.post(fabric.OpSend, fabric.FlagSignaled)
	}
	g.await("the failure", func() bool { return len(g.s.sent) == 4 })
	g.turn()
	want := []fabric.Status{fabric.StatusOK, fabric.StatusOK, fabric.StatusFlushed, fabric.StatusFlushed}
	if got := statuses(g.s.sent); !slices.Equal(got, want) {
		t.Errorf("statuses %v, want %v", got, want)
	}
	if g.s.qp.State() != fabric.StateError || !errors.Is(g.s.qp.Err(), fabric.ErrCompletion) {
		t.Errorf("state %v, error %v", g.s.qp.State(), g.s.qp.Err())
	}
	if len(g.r.got) != 2 || len(g.r.fell) != 0 || g.r.qp.State() != fabric.StateReady {
		t.Errorf("%d messages arrived, %d receives failed, %v", len(g.r.got), len(g.r.fell), g.r.qp.State())
	}
}

// TestBreakRate: a probability breaks sooner or later, and both ends notice.
func TestBreakRate(t *testing.T) {
	g := newRig(t, fabric.RC, "seed=5; rc.break=1%")
	for g.s.qp.State() == fabric.StateReady && g.s.next < 10000 {
		g.run(1, fabric.OpSend)
	}
	g.brokeWith(fabric.StatusPeerLost, fabric.ErrPeerLost)
	if want := 159; g.s.next != want {
		t.Errorf("broke at operation %d, with this seed it is %d", g.s.next, want)
	}
}

// TestLose: the request was executed, but the poster cannot know.
func TestLose(t *testing.T) {
	g := newRig(t, fabric.RC, "rc.lose@op=2")
	for i := range 4 {
		g.s.post(fabric.OpWrite, 0)
		_ = i
	}
	g.await("failure", func() bool { return len(g.s.sent) == 4 })
	g.brokeWith(fabric.StatusPeerLost, fabric.ErrPeerLost)
	want := []fabric.Status{fabric.StatusOK, fabric.StatusOK, fabric.StatusPeerLost, fabric.StatusFlushed}
	if got := statuses(g.s.sent); !slices.Equal(got, want) {
		t.Errorf("statuses %v, want %v", got, want)
	}
	for n, want := range []uint64{0, 1, 2, 0} {
		if got := binary.LittleEndian.Uint64(g.r.reg.Bytes()[writeAt+8*n:]); got != want {
			t.Errorf("word %d is %d, want %d", n, got, want)
		}
	}
}

// TestCutByHand: Cut and Heal on all transports, dialing included.
func TestCutByHand(t *testing.T) {
	t.Run("rc", func(t *testing.T) {
		g := newRig(t, fabric.RC, "")
		g.run(3, fabric.OpSend)
		g.s.dev.Cut()
		if g.s.qp.State() != fabric.StateError || !errors.Is(g.s.qp.Err(), fabric.ErrPeerLost) {
			t.Errorf("state %v, error %v", g.s.qp.State(), g.s.qp.Err())
		}
		g.s.post(fabric.OpSend, 0)
		g.s.post(fabric.OpSend, 0)
		g.turn()
		g.brokeWith(fabric.StatusPeerLost, fabric.ErrPeerLost)
		if len(g.s.sent) != 5 {
			t.Errorf("completions %v", g.s.sent)
		}
		if _, _, err := dial(g.s, g.r); !errors.Is(err, fabric.ErrRefused) {
			t.Errorf("dial over the cut link: %v", err)
		}
		g.s.dev.Heal()
		must(t, g.s.qp.Close())
		must(t, g.r.qp.Close())
		g.connect()
		g.s.sent, g.r.got = nil, nil
		g.run(3, fabric.OpSend)
		if !slices.Equal(g.r.got, numbers(5, 8)) {
			t.Errorf("arrived %v", g.r.got)
		}
	})
	for _, tr := range []fabric.Transport{fabric.UC, fabric.UD} {
		t.Run(tr.String(), func(t *testing.T) {
			g := newRig(t, tr, "uc.delay=1ms@op=2; ud.delay=1ms@op=2")
			g.run(3, fabric.OpSend)
			g.s.dev.Cut()
			g.run(3, fabric.OpSend)
			g.s.time.now.Add(1e9) // what is held leaves during the cut
			g.turn()
			g.s.dev.Heal()
			g.run(2, fabric.OpSend)
			g.s.completedInOrder(8)
			if want := []uint64{0, 1, 6, 7}; !slices.Equal(g.r.got, want) {
				t.Errorf("arrived %v, want %v", g.r.got, want)
			}
			if n := g.struck(faults.Cut); n != 3 {
				t.Errorf("%d operations were cut", n)
			}
		})
	}
}

// TestBrokenWhileHeld: what is held when the peer goes away is lost, and requests
// behind it are flushed.
func TestBrokenWhileHeld(t *testing.T) {
	g := newRig(t, fabric.UC, "uc.delay=1h@op=1; uc.reorder=1h@op=3")
	g.run(5, fabric.OpSend)
	g.s.completedInOrder(5)
	must(t, g.r.qp.Close())
	g.await("the end", func() bool { return g.s.qp.State() == fabric.StateError })
	g.s.post(fabric.OpSend, 0)
	g.s.time.now.Add(int64(2 * time.Hour))
	g.await("the flush", func() bool { return len(g.s.sent) == 6 })
	g.turn()
	if c := g.s.sent[5]; len(g.s.sent) != 6 || c.ID != 5 || c.Status != fabric.StatusFlushed {
		t.Errorf("completions %+v", g.s.sent)
	}
	if !errors.Is(g.s.qp.Err(), fabric.ErrDisconnected) {
		t.Errorf("error %v", g.s.qp.Err())
	}
}

// TestCutBoth: with both ends cut, both have lost their peer.
func TestCutBoth(t *testing.T) {
	g := newRig(t, fabric.RC, "")
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.r.dev.Cut()
	}()
	g.s.dev.Cut()
	<-done
	for _, q := range []fabric.QP{g.s.qp, g.r.qp} {
		if q.State() != fabric.StateError {
			t.Errorf("state %v", q.State())
		}
		if err := q.Err(); !errors.Is(err, fabric.ErrPeerLost) && !errors.Is(err, fabric.ErrDisconnected) {
			t.Errorf("error %v", err)
		}
	}
}

// TestRefuse: dials and accepts fail as often as the plan says, the same ones
// each time; the other side sees an error.
func TestRefuse(t *testing.T) {
	for _, c := range []struct {
		plan string
		want []int
	}{
		{"seed=11; dial.refuse=30%", []int{0, 2, 4, 7, 8, 9, 10, 13, 16, 18}},
		{"dial.refuse@op=3..5", []int{3, 4}},
		{"seed=11; accept.refuse=30%", []int{0, 2, 4, 7, 8, 9, 10, 13, 16, 18}},
	} {
		t.Run(c.plan, func(t *testing.T) {
			g := newRig(t, fabric.UD, "")
			a, b := newSide(t, g.net, "a", c.plan), newSide(t, g.net, "b", c.plan)
			var got []int
			for i := range 20 {
				qa, qb, err := dial(a, b)
				if err == nil {
					must(t, qa.Close())
					must(t, qb.Close())
					continue
				}
				if !errors.Is(err, fabric.ErrRefused) {
					t.Fatal(err)
				}
				got = append(got, i)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("refused %v, want %v", got, c.want)
			}
			events := slices.Concat(a.dev.Struck(), b.dev.Struck())
			if len(events) != len(c.want) || events[0].QP != -1 || events[0].Op != uint64(c.want[0]) {
				t.Errorf("struck: %v", events)
			}
		})
	}
}

package faults_test

import (
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/faults"
	"github.com/remora-kv/remora/fabric/loop"
)

const stormy = "seed=99; ud.drop=3%,burst=2; ud.dup=2%; ud.reorder=5%,by=3; ud.delay=4%,1ms; uc.drop=5%; uc.delay=1%,10us"

// storm runs four datagram queue pairs of one device, each in a goroutine of
// its own and with its own mixture of chains, and returns the schedule.
func storm(t *testing.T, plan string, ops int) faults.Schedule {
	t.Helper()
	net := loop.NewNetwork()
	s, r := newSide(t, net, "s", plan), newSide(t, net, "r", "")
	s.tr, r.tr = fabric.UD, fabric.UD
	s.peer, r.peer = r, s
	var err error
	r.qp, err = r.dom.NewUD(r.config())
	must(t, err)
	var senders []*side
	for range 4 {
		own := *s
		own.cq, err = s.dev.NewCQ(2 * inbox)
		must(t, err)
		own.qp, err = s.dom.NewUD(own.config())
		must(t, err)
		own.reg, err = s.dom.Alloc("test", 1<<20, 0)
		must(t, err)
		own.to, err = s.dom.NewAddressHandle(t.Context(), r.qp.Address())
		must(t, err)
		senders = append(senders, &own)
	}
	var group sync.WaitGroup
	for i, own := range senders {
		group.Go(func() {
			for done := 0; done < ops; {
				var chain []fabric.WR
				for range min(1+(done+i)%7, ops-done) {
					chain = append(chain, own.message(fabric.OpSend, done))
					done++
				}
				if n, err := own.qp.Post(chain); n != len(chain) || err != nil {
					t.Errorf("Post: %d, %v", n, err)
					return
				}
				for own.next += len(chain); len(own.sent) < own.next; {
					own.poll()
				}
			}
		})
	}
	group.Wait()
	for _, own := range senders {
		must(t, own.qp.Close())
		must(t, own.to.Close())
		must(t, own.reg.Close())
		must(t, own.cq.Close())
	}
	must(t, r.qp.Close())
	return s.dev.Schedule()
}

// TestReplay: same seed, same posts per queue pair: same schedule (F1),
// whatever the goroutines do. The printed plan is enough to do it again.
func TestReplay(t *testing.T) {
	first := storm(t, stormy, 1000)
	if len(first.Events) < 400 {
		t.Fatalf("only %d events", len(first.Events))
	}
	for range 3 {
		again := storm(t, first.Plan, 1000)
		if !reflect.DeepEqual(first, again) {
			t.Fatalf("another schedule:\n%v\n%v", first, again)
		}
	}
	other := storm(t, strings.Replace(stormy, "seed=99", "seed=100", 1), 1000)
	if reflect.DeepEqual(first.Events, other.Events) {
		t.Error("another seed, the same schedule")
	}
}

// TestScheduleText is what a failing test prints.
func TestScheduleText(t *testing.T) {
	g := newRig(t, fabric.UC, "seed=3; uc.drop@op=1..3; uc.delay=1ms@op=4; uc.break=rnr@op=5")
	for range 7 {
		g.s.post(fabric.OpWriteImm, 0)
	}
	g.s.time.now.Add(1e9)
	g.turn()
	want := `faults: plan "seed=3; uc.drop@op=1..3; uc.delay=1ms@op=4; uc.break=rnr@op=5"
  qp 0 op 1..3: uc WRITE_IMM drop
  qp 0 op 4: uc WRITE_IMM delay 1ms
  qp 0 op 5: uc WRITE_IMM break: receiver not ready
`
	if got := g.s.dev.Schedule().String(); got != want {
		t.Errorf("schedule\n%s\nwant\n%s", got, want)
	}
	if s := g.s.dev.Stats(); s.Struck[faults.Drop] != 2 || s.Struck[faults.Delay] != 1 || s.Struck[faults.Break] != 1 {
		t.Errorf("stats %+v", s)
	}
}

// TestScheduleIsBounded: a long run does not eat the memory.
func TestScheduleIsBounded(t *testing.T) {
	g := newRig(t, fabric.UD, "ud.drop")
	g.run(20000, fabric.OpSend)
	s := g.s.dev.Schedule()
	if len(s.Events) != 16384 || s.More != 20000-16384 {
		t.Errorf("%d events kept, %d more", len(s.Events), s.More)
	}
	if !strings.HasSuffix(s.String(), "and 3616 more\n") {
		t.Error("the text does not say so")
	}
}

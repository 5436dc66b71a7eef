package faults_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/faults"
	"github.com/remora-kv/remora/fabric/loop"
)

// model is a random program over a random plan, and what it may expect.
type model struct {
	*rig
	rnd *rand.Rand
	// open are the signaled flags of requests posted and not yet freed, by
	// number; first is the number of open[0].
	open  []bool
	first int
}

func randomPlan(rnd *rand.Rand, tr fabric.Transport) string {
	rules := []string{"%v.drop=%d%%", "%v.drop=%d%%,burst=3", "%v.delay=%d%%,3us", "%v.delay=%d%%,40us", "%v.reorder=%d%%,by=2", "%v.reorder=%d%%,5us"}
	if tr == fabric.UD {
		rules = append(rules, "%v.dup=%d%%", "%v.dup=%d%%,10us")
	}
	plan := fmt.Sprintf("seed=%d", rnd.Uint32())
	for range 1 + rnd.IntN(4) {
		plan += "; " + fmt.Sprintf(rules[rnd.IntN(len(rules))], tr, rnd.IntN(40))
	}
	return plan
}

// TestModel: under any mixture of faults completions come in order and only
// for what was signaled, places are freed as they should be, and what arrives
// was sent and is whole, though the program overwrites its buffers as soon as
// it may.
func TestModel(t *testing.T) {
	for seed := range uint64(60) {
		for _, tr := range []fabric.Transport{fabric.UC, fabric.UD} {
			rnd := rand.New(rand.NewPCG(seed, uint64(tr)))
			plan := randomPlan(rnd, tr)
			t.Run(fmt.Sprintf("%d/%v", seed, plan), func(t *testing.T) {
				m := &model{rig: newRig(t, tr, plan), rnd: rnd}
				for range 300 {
					m.step()
				}
				m.finish()
			})
		}
	}
}

func (m *model) step() {
	m.t.Helper()
	switch m.rnd.IntN(4) {
	case 0, 1:
		m.postSome(1 + m.rnd.IntN(12))
	case 2:
		m.pollSome()
	case 3:
		m.s.time.now.Add(m.rnd.Int64N(20_000))
	}
	m.r.poll()
}

// postSome posts a chain of requests, each with a buffer of its own. As many
// are taken as there are places.
func (m *model) postSome(n int) {
	m.t.Helper()
	var chain []fabric.WR
	for i := range n {
		number := m.s.next + i
		w := m.s.message(fabric.OpSend, number)
		w.Flags = fabric.Flags(m.rnd.IntN(4)) & (fabric.FlagSignaled | fabric.FlagInline)
		if i == n-1 && m.rnd.IntN(2) == 0 {
			w.Flags |= fabric.FlagSignaled
		}
		chain = append(chain, w)
	}
	if len(m.open)+n > depth && len(m.open) < depth {
		// What would be the last place must be freed by something.
		chain[depth-len(m.open)-1].Flags |= fabric.FlagSignaled
	}
	took, err := m.s.qp.Post(chain)
	want := min(n, depth-len(m.open))
	if took != want || (err != nil) != (want < n) || (err != nil && !errors.Is(err, fabric.ErrQueueFull)) {
		m.t.Fatalf("Post took %d of %d with %d open: %v", took, n, len(m.open), err)
	}
	for i, w := range chain[:took] {
		if w.Flags&fabric.FlagInline != 0 {
			m.scribble(m.s.next + i)
		}
		m.open = append(m.open, w.Flags&fabric.FlagSignaled != 0)
	}
	m.s.next += took
}

// scribble overwrites the buffer of a message that is the program's again.
func (m *model) scribble(number int) {
	off := number % buffers * slot
	binary.LittleEndian.PutUint64(m.s.reg.Bytes()[off:], 0xdeaddeaddeaddead)
}

func (m *model) pollSome() {
	m.t.Helper()
	out := make([]fabric.Completion, 1+m.rnd.IntN(5))
	for _, c := range out[:m.s.cq.Poll(out)] {
		next := slices.Index(m.open, true)
		if c.Status != fabric.StatusOK || next < 0 || c.ID != uint64(m.first+next) || c.Bytes != payload {
			m.t.Fatalf("completion %+v, the next signaled request is %d", c, m.first+next)
		}
		for i := range next + 1 {
			m.scribble(m.first + i)
		}
		m.open, m.first = m.open[next+1:], m.first+next+1
	}
}

// finish waits for everything and compares what was sent with what arrived.
func (m *model) finish() {
	m.t.Helper()
	m.s.time.now.Add(1e9)
	for range 200 {
		m.pollSome()
		m.r.poll()
		m.s.time.now.Add(100_000)
	}
	if slices.Contains(m.open, true) {
		m.t.Fatalf("requests %d.. never completed", m.first)
	}
	counts := map[uint64]int{}
	for _, n := range m.r.got {
		counts[n]++
	}
	want := map[uint64]int{}
	for i := range m.s.next {
		want[uint64(i)] = 1
	}
	for _, e := range m.s.dev.Struck() {
		if e.Fault == faults.Drop {
			delete(want, e.Op)
		}
		if e.Fault == faults.Dup {
			want[e.Op]++
		}
	}
	for n := range counts {
		want[n] += 0
	}
	for n, times := range want {
		if counts[n] != times {
			m.t.Errorf("message %#x arrived %d times, want %d", n, counts[n], times)
		}
	}
}

// TestNested: a wrapped device can be wrapped again.
func TestNested(t *testing.T) {
	net := loop.NewNetwork()
	inner := newSide(t, net, "s", "uc.drop@op=1")
	plan, err := faults.ParsePlan("uc.drop@op=3; uc.delay=1us@op=4")
	must(t, err)
	s := &side{t: t, dev: faults.Wrap(inner.dev, plan), time: inner.time, tr: fabric.UC}
	s.dom, err = s.dev.NewDomain()
	must(t, err)
	s.cq, err = s.dev.NewCQ(2 * inbox)
	must(t, err)
	s.reg, err = s.dom.Alloc("test", 1<<20, fabric.RemoteWrite)
	must(t, err)
	r := newSide(t, net, "r", "")
	r.tr, r.peer, s.peer = fabric.UC, s, r
	g := &rig{t: t, net: net, s: s, r: r}
	g.connect()
	g.run(5, fabric.OpSend)
	g.s.time.now.Add(1000)
	g.run(1, fabric.OpSend)
	g.s.completedInOrder(6)
	if want := []uint64{0, 2, 4, 5}; !slices.Equal(g.r.got, want) {
		t.Errorf("arrived %v, want %v", g.r.got, want)
	}
	must(t, s.qp.Close())
	must(t, r.qp.Close())
}

// TestSplitQueues: what is held moves on through either completion queue, and
// closing a queue pair leaves nothing behind in them.
func TestSplitQueues(t *testing.T) {
	for _, poll := range []string{"send", "recv"} {
		t.Run(poll, func(t *testing.T) {
			net := loop.NewNetwork()
			s, r := newSide(t, net, "s", "uc.delay=1ms"), newSide(t, net, "r", "")
			s.tr, r.tr, s.peer, r.peer = fabric.UC, fabric.UC, r, s
			recv, err := s.dev.NewCQ(inbox)
			must(t, err)
			send := s.cq
			qs, qr, err := dialWith(s, r, func(c *fabric.QPConfig) { c.RecvCQ = recv })
			must(t, err)
			s.qp, r.qp = qs, qr
			r.postRecv(0)
			s.post(fabric.OpSend, 0)
			s.time.now.Add(1e9)
			var out [4]fabric.Completion
			if poll == "recv" {
				recv.Poll(out[:])
			} else {
				send.Poll(out[:])
			}
			r.poll()
			if len(r.got) != 1 {
				t.Error("the message is still held")
			}
			s.post(fabric.OpSend, 0)
			must(t, qs.Close())
			if n := send.Poll(out[:]) + recv.Poll(out[:]); n != 0 && poll == "recv" {
				t.Errorf("%d completions of a closed queue pair", n)
			}
			if _, err := qs.Post([]fabric.WR{s.message(fabric.OpSend, 2)}); !errors.Is(err, fabric.ErrClosed) {
				t.Errorf("Post after Close: %v", err)
			}
			must(t, recv.Close())
			must(t, send.Close())
		})
	}
}

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

// TestRates: with a fixed seed the numbers are exact, and they are near what
// the plan asks for.
func TestRates(t *testing.T) {
	const n = 20000
	for _, c := range []struct {
		plan    string
		tr      fabric.Transport
		fault   faults.Fault
		want    int // struck
		percent float64
		arrive  func(struck int) int
	}{
		{"seed=42; ud.drop=1%", fabric.UD, faults.Drop, 226, 1, func(s int) int { return n - s }},
		{"seed=43; ud.drop=1%", fabric.UD, faults.Drop, 188, 1, func(s int) int { return n - s }},
		{"seed=42; uc.drop=10%,burst=5", fabric.UC, faults.Drop, 2090, 10, func(s int) int { return n - s }},
		{"seed=42; ud.drop=50%,burst=20", fabric.UD, faults.Drop, 10272, 50, func(s int) int { return n - s }},
		{"seed=42; ud.dup=2%", fabric.UD, faults.Dup, 424, 2, func(s int) int { return n + s }},
		{"seed=42; ud.reorder=5%", fabric.UD, faults.Reorder, 983, 5, func(int) int { return n }},
		{"seed=42; uc.reorder=5%", fabric.UC, faults.Reorder, 983, 5, func(int) int { return n }},
	} {
		t.Run(c.plan, func(t *testing.T) {
			g := newRig(t, c.tr, c.plan)
			g.run(n, fabric.OpSend)
			g.s.time.now.Add(int64(time.Second))
			g.turn()
			struck := g.struck(c.fault)
			if struck != c.want {
				t.Errorf("%d operations struck, want %d", struck, c.want)
			}
			if got := 100 * float64(struck) / n; got < 0.85*c.percent || got > 1.15*c.percent {
				t.Errorf("%.2f%% of the operations struck, want about %v%%", got, c.percent)
			}
			if len(g.r.got) != c.arrive(struck) {
				t.Errorf("%d messages arrived, want %d", len(g.r.got), c.arrive(struck))
			}
			g.s.completedInOrder(n)
		})
	}
}

// TestDrop: the struck messages are exactly those missing.
func TestDrop(t *testing.T) {
	for _, tr := range []fabric.Transport{fabric.UC, fabric.UD} {
		t.Run(tr.String(), func(t *testing.T) {
			g := newRig(t, tr, fmt.Sprintf("seed=7; %v.drop=20%%", tr))
			g.run(100, fabric.OpSend)
			want := numbers(0, 100)
			for _, e := range g.s.dev.Struck() {
				want = slices.DeleteFunc(want, func(n uint64) bool { return n == e.Op })
			}
			if len(want) == 100 || !slices.Equal(g.r.got, want) {
				t.Errorf("arrived %v, want %v", g.r.got, want)
			}
			g.s.completedInOrder(100)
		})
	}
}

// TestDropVerbs: a rule for one verb leaves the others alone; a lost WRITE
// touches no memory and a lost WRITE_IMM consumes no receive.
func TestDropVerbs(t *testing.T) {
	g := newRig(t, fabric.UC, "uc.write.drop=100%@op=2..; uc.write_imm.drop@op=2..")
	for _, op := range []fabric.Op{fabric.OpWrite, fabric.OpWriteImm, fabric.OpSend, fabric.OpWrite, fabric.OpWriteImm} {
		g.run(1, op)
	}
	g.s.completedInOrder(5)
	if !slices.Equal(g.r.got, []uint64{2}) || !slices.Equal(g.r.imms, []uint32{1}) {
		t.Errorf("got messages %v, immediates %v", g.r.got, g.r.imms)
	}
	for n, arrives := range []bool{1: true, 3: false, 4: false} {
		word := binary.LittleEndian.Uint64(g.r.reg.Bytes()[writeAt+8*n:])
		if arrives != (word == uint64(n)) && n > 0 {
			t.Errorf("word %d is %d", n, word)
		}
	}
}

// TestUnsignaled: struck or not, an unsignaled request has no completion and
// keeps its place until a later one is polled (F4).
func TestUnsignaled(t *testing.T) {
	for _, plan := range []string{"", "uc.drop=50%", "uc.reorder=50%", "uc.drop@op=63"} {
		t.Run(plan, func(t *testing.T) {
			g := newRig(t, fabric.UC, plan)
			for round := range 3 {
				chain := make([]fabric.WR, depth+5)
				for i := range chain {
					chain[i] = g.s.message(fabric.OpWrite, i)
					if i != depth-1 {
						chain[i].Flags = 0
					}
				}
				n, err := g.s.qp.Post(chain)
				if n != depth || !errors.Is(err, fabric.ErrQueueFull) {
					t.Fatalf("round %d: Post took %d, %v, want %d", round, n, err, depth)
				}
				g.s.time.now.Add(int64(time.Second))
				if n, err = g.s.qp.Post(chain[:1]); n != 0 || !errors.Is(err, fabric.ErrQueueFull) {
					t.Fatalf("round %d: Post took %d, %v, though nothing was polled", round, n, err)
				}
				g.turn()
				if len(g.s.sent) != round+1 || g.s.sent[round].ID != depth-1 {
					t.Fatalf("completions %+v", g.s.sent)
				}
			}
		})
	}
}

// TestDup: every datagram arrives twice, the copy behind the original or, with
// a duration, later.
func TestDup(t *testing.T) {
	g := newRig(t, fabric.UD, "ud.dup@op=0..2; ud.dup=1ms@op=2")
	g.run(4, fabric.OpSend)
	if want := []uint64{0, 0, 1, 1, 2, 3}; !slices.Equal(g.r.got, want) {
		t.Fatalf("arrived %v, want %v", g.r.got, want)
	}
	g.s.time.now.Add(int64(time.Millisecond))
	g.turn()
	if want := []uint64{0, 0, 1, 1, 2, 3, 2}; !slices.Equal(g.r.got, want) {
		t.Fatalf("arrived %v, want %v", g.r.got, want)
	}
	g.s.completedInOrder(4)
}

// TestDelayUD: a delayed datagram is alone late. Its completion is not, and
// its memory is the program's again.
func TestDelayUD(t *testing.T) {
	g := newRig(t, fabric.UD, "ud.delay=1ms@op=1")
	g.run(3, fabric.OpSend)
	g.s.completedInOrder(3)
	clear(g.s.reg.Bytes()[:buffers*slot])
	g.s.time.now.Add(int64(time.Millisecond) - 1)
	g.turn()
	if want := []uint64{0, 2}; !slices.Equal(g.r.got, want) {
		t.Fatalf("arrived %v, want %v", g.r.got, want)
	}
	g.s.time.now.Add(1)
	g.turn()
	if want := []uint64{0, 2, 1}; !slices.Equal(g.r.got, want) {
		t.Fatalf("arrived %v, want %v", g.r.got, want)
	}
}

// TestDelayUC: a delay holds up what is behind it. Completions do not wait, and
// the memory is the program's again.
func TestDelayUC(t *testing.T) {
	g := newRig(t, fabric.UC, "uc.delay=1ms@op=1; uc.delay=2ms@op=3")
	g.run(1, fabric.OpSend)
	for i := range 4 {
		g.s.post(fabric.OpSend, fabric.FlagInline*fabric.Flags(i%2))
	}
	g.turn()
	g.s.completedInOrder(5)
	clear(g.s.reg.Bytes()[:buffers*slot])
	for _, arrived := range []int{1, 3, 5} {
		if !slices.Equal(g.r.got, numbers(0, arrived)) {
			t.Errorf("arrived %v, want %d", g.r.got, arrived)
		}
		g.s.time.now.Add(int64(time.Millisecond))
		g.turn()
	}
	g.run(2, fabric.OpSend)
	g.s.completedInOrder(7)
}

// TestReorder: the message is overtaken by as many as the plan says, in one
// chain or in many, and arrives after a time when nobody overtakes it.
func TestReorder(t *testing.T) {
	for _, tr := range []fabric.Transport{fabric.UC, fabric.UD} {
		t.Run(tr.String(), func(t *testing.T) {
			plan := fmt.Sprintf("%v.reorder=by=2@op=1; %v.reorder@op=6..; %v.drop@op=5", tr, tr, tr)
			g := newRig(t, tr, plan)
			var chain []fabric.WR
			for i := range 8 {
				chain = append(chain, g.s.message(fabric.OpSend, i))
			}
			if n, err := g.s.qp.Post(chain); n != 8 || err != nil {
				t.Fatal(n, err)
			}
			g.turn()
			want := []uint64{0, 2, 3, 1, 4, 7, 6}
			if !slices.Equal(g.r.got, want) {
				t.Fatalf("arrived %v, want %v", g.r.got, want)
			}
			g.s.completedInOrder(8)
			g.s.next = 8
			g.run(1, fabric.OpSend)
			if !slices.Equal(g.r.got, want) {
				t.Fatalf("arrived %v, want %v", g.r.got, want)
			}
			g.s.time.now.Add(int64(time.Second))
			g.turn()
			if want = append(want, 8); !slices.Equal(g.r.got, want) {
				t.Fatalf("arrived %v, want %v", g.r.got, want)
			}
			g.s.completedInOrder(9)
		})
	}
}

// TestReorderBehindDelay: a message behind a delayed one stays there.
func TestReorderBehindDelay(t *testing.T) {
	g := newRig(t, fabric.UC, "uc.delay=1ms@op=0; uc.reorder@op=1; uc.drop@op=3")
	g.run(6, fabric.OpSend)
	if len(g.r.got) != 0 {
		t.Fatalf("arrived %v", g.r.got)
	}
	g.s.time.now.Add(int64(2 * time.Millisecond))
	g.turn()
	if want := []uint64{0, 1, 2, 4, 5}; !slices.Equal(g.r.got, want) {
		t.Fatalf("arrived %v, want %v", g.r.got, want)
	}
	g.s.completedInOrder(6)
}

// TestSegments: what is held keeps all of its segments, which Post does not
// let it refer to.
func TestSegments(t *testing.T) {
	for _, tr := range []fabric.Transport{fabric.UC, fabric.UD} {
		t.Run(tr.String(), func(t *testing.T) {
			g := newRig(t, tr, fmt.Sprintf("%v.delay=1ms", tr))
			for i, flags := range []fabric.Flags{0, fabric.FlagInline} {
				w := g.s.message(fabric.OpSend, 0x0807060504030201)
				w.Flags |= flags
				more := []fabric.Seg{{Region: w.Local.Region, Off: w.Local.Off + 2, Len: 3}, {Region: w.Local.Region, Off: w.Local.Off + 5, Len: 3}}
				w.Local.Len, w.More = 2, more
				if n, err := g.s.qp.Post([]fabric.WR{w}); n != 1 || err != nil {
					t.Fatal(n, err)
				}
				clear(more)
				g.s.time.now.Add(int64(time.Millisecond))
				g.turn()
				if len(g.r.got) != i+1 || g.r.got[i] != 0x0807060504030201 {
					t.Fatalf("arrived %x", g.r.got)
				}
			}
		})
	}
}

// TestFull: when no more can be held, messages go out; none is lost.
func TestFull(t *testing.T) {
	g := newRig(t, fabric.UD, "ud.delay=1ms")
	g.run(200, fabric.OpSend)
	if n := len(g.r.got); n != 200-128 {
		t.Fatalf("%d arrived at once", n)
	}
	g.s.completedInOrder(200)
	g.s.time.now.Add(int64(time.Millisecond))
	g.await("the others", func() bool { return len(g.r.got) == 200 })
	slices.Sort(g.r.got)
	if !slices.Equal(g.r.got, numbers(0, 200)) {
		t.Errorf("arrived %v", g.r.got)
	}
}

// TestHandle: what is held for a destination that the program closes is lost, as
// is what is held when the queue pair is closed.
func TestHandle(t *testing.T) {
	g := newRig(t, fabric.UD, "ud.delay=1ms@op=0; ud.delay=1h@op=1")
	g.run(3, fabric.OpSend)
	must(t, g.s.to.Close())
	if err := g.s.to.Close(); err == nil {
		t.Error("the second Close is fine")
	}
	g.s.time.now.Add(int64(time.Millisecond))
	g.turn()
	if !slices.Equal(g.r.got, []uint64{2}) {
		t.Errorf("arrived %v", g.r.got)
	}
	g.s.completedInOrder(3)
	must(t, g.s.qp.Close())
}

// TestRefusedRequests: what is wrong with a request is said by Post, struck or
// not, with its place in the chain.
func TestRefusedRequests(t *testing.T) {
	for _, plan := range []string{"", "ud.drop", "ud.delay=1ms", "ud.drop@op=2"} {
		t.Run(plan, func(t *testing.T) {
			g := newRig(t, fabric.UD, plan)
			chain := []fabric.WR{
				g.s.message(fabric.OpSend, 0), g.s.message(fabric.OpSend, 1), g.s.message(fabric.OpSend, 2),
				g.s.message(fabric.OpSend, 3),
			}
			chain[2].Local.Off = -1
			n, err := g.s.qp.Post(chain)
			var pe *fabric.PostError
			if n != 2 || !errors.As(err, &pe) || pe.Index != 2 {
				t.Fatalf("Post: %d, %v", n, err)
			}
			g.turn()
			g.s.completedInOrder(2)
			// The place of the refused request was not used up.
			chain[2] = g.s.message(fabric.OpSend, 2)
			if n, err = g.s.qp.Post(chain[2:]); n != 2 || err != nil {
				t.Fatal(n, err)
			}
			g.turn()
			g.s.completedInOrder(4)
		})
	}
}

// TestHeldUCThatCannotBe: a message that cannot be held goes out, and what is
// held goes before it (G1).
func TestHeldUCThatCannotBe(t *testing.T) {
	g := newRig(t, fabric.UC, "uc.delay=1ms@op=1..")
	g.run(3, fabric.OpSend)
	w := g.s.message(fabric.OpWrite, 3)
	w.Local = g.s.reg.Seg(0, g.s.dev.Limits().MTU+1)
	w.Remote = g.r.reg.Remote().At(writeAt)
	if n, err := g.s.qp.Post([]fabric.WR{w}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	g.turn()
	if !slices.Equal(g.r.got, numbers(0, 3)) || !slices.Equal(g.r.reg.Bytes()[writeAt:][:w.Local.Len], w.Local.Bytes()) {
		t.Errorf("arrived %v", g.r.got)
	}
}

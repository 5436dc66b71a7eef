package faults_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/faults"
)

const lineSize = 64

// postOne posts one request.
func (s *side) postOne(w fabric.WR) {
	s.t.Helper()
	if n, err := s.qp.Post([]fabric.WR{w}); n != 1 || err != nil {
		s.t.Fatal(n, err)
	}
}

// write is a WRITE of n bytes v, from the beginning of the sender's memory to at.
func (g *rig) write(v byte, at, n int) fabric.WR {
	copy(g.s.reg.Bytes(), bytes.Repeat([]byte{v}, n))
	return fabric.WR{Op: fabric.OpWrite, Flags: fabric.FlagSignaled, Local: g.s.reg.Seg(0, n), Remote: g.r.reg.Remote().At(at)}
}

// there is what the receiver has.
func (g *rig) there(n int) []byte { return g.r.reg.Bytes()[writeAt : writeAt+n] }

// linesOf returns the value of each line, which has no other, but for a last one.
func linesOf(t *testing.T, b []byte) (lines []byte) {
	t.Helper()
	for line := range slices.Chunk(b, lineSize) {
		if !bytes.Equal(line, bytes.Repeat(line[:1], len(line))) {
			t.Fatalf("line %d is torn: %x", len(lines), line)
		}
		lines = append(lines, line[0])
	}
	return lines
}

// TestShuffledWrite: lines are placed in any order, and all of them before the completion.
func TestShuffledWrite(t *testing.T) {
	for _, tr := range []fabric.Transport{fabric.RC, fabric.UC} {
		for _, n := range []int{1000, 4096, 50000} {
			t.Run(fmt.Sprint(tr, n), func(t *testing.T) {
				late := 0 // WRITEs with a line behind one that is not there yet
				for seed := range 50 {
					g := newRig(t, tr, fmt.Sprintf("seed=%d; %v.shuffle=1ms", seed, tr))
					g.s.postOne(g.write(7, writeAt, n))
					g.turn()
					if lines := linesOf(t, g.there(n)); len(g.s.sent) == 0 && bytes.Contains(lines, []byte{0, 7}) {
						late++
					} else if len(g.s.sent) != 0 && bytes.ContainsRune(lines, 0) {
						t.Fatalf("seed %d: complete, and not there: %d", seed, lines)
					}
					g.s.time.now.Add(int64(time.Millisecond))
					g.turn()
					if len(g.s.sent) != 1 || bytes.ContainsRune(g.there(n), 0) {
						t.Fatalf("seed %d: %d completions, bytes %d", seed, len(g.s.sent), g.there(n))
					}
				}
				if late < 10 {
					t.Errorf("in %d of 50 WRITEs only a line was there before the one before it", late)
				}
			})
		}
	}
}

// TestBehindShuffledWrite: another WRITE overtakes one that is under way, but not to the same
// place; what else is behind it finds it whole.
func TestBehindShuffledWrite(t *testing.T) {
	const n = 1024
	for _, op := range []fabric.Op{fabric.OpWrite, fabric.OpSend, fabric.OpWriteImm, fabric.OpRead} {
		t.Run(op.String(), func(t *testing.T) {
			for seed := range 20 {
				g := newRig(t, fabric.RC, fmt.Sprintf("seed=%d; rc.shuffle=1h@op=0", seed))
				g.s.postOne(g.write(7, writeAt, n))
				whole := !bytes.ContainsRune(g.there(n), 0)
				beside := g.write(8, writeAt+n, 8)
				if g.s.postOne(beside); g.there(n + 1)[n] != 8 || whole != !bytes.ContainsRune(g.there(n), 0) {
					t.Fatalf("seed %d: a WRITE beside has not overtaken", seed)
				}
				w := g.write(9, writeAt+n-8, 8)
				w.Op = op
				if g.s.postOne(w); bytes.ContainsRune(g.there(n), 0) {
					t.Fatalf("seed %d: behind %v it is not whole: %d", seed, op, g.there(n))
				}
				if op == fabric.OpWrite && g.there(n)[n-8] != 9 {
					t.Fatalf("seed %d: the first WRITE is above the second", seed)
				}
				if op == fabric.OpRead && g.s.reg.Bytes()[0] != 7 {
					t.Fatalf("seed %d: the READ does not see the WRITE", seed)
				}
				g.turn()
			}
		})
	}
}

// TestShuffledRead: each line is of a time of its own, before the completion.
func TestShuffledRead(t *testing.T) {
	for _, c := range []struct {
		fault faults.Fault
		n     int
		want  string // the lines
	}{{faults.Shuffle, 1000, "mixed"}, {faults.Shuffle, 50000, "mixed"}, {faults.Replay, 1000, "new"}} {
		t.Run(fmt.Sprint(c.fault, c.n), func(t *testing.T) {
			newer := 0 // READs with a line that is older than the one before it
			for seed := range 50 {
				g := newRig(t, fabric.RC, fmt.Sprintf("seed=%d; rc.%v=1ms", seed, c.fault))
				w := g.write(0, writeAt, c.n)
				w.Op = fabric.OpRead
				g.s.postOne(w)
				g.turn()
				waits := len(g.s.sent) == 0
				copy(g.there(c.n), bytes.Repeat([]byte{7}, c.n))
				g.s.time.now.Add(int64(time.Millisecond))
				g.turn()
				if len(g.s.sent) != 1 || g.s.sent[0].Bytes != uint32(c.n) {
					t.Fatalf("seed %d: completions %+v", seed, g.s.sent)
				}
				lines := linesOf(t, g.s.reg.Bytes()[:c.n])
				if waits && c.want == "new" && bytes.ContainsRune(lines, 0) {
					t.Fatalf("seed %d: lines %d", seed, lines)
				}
				if bytes.Contains(lines, []byte{7, 0}) {
					newer++
				}
			}
			if c.want == "mixed" && newer < 10 {
				t.Errorf("in %d of 50 READs only a line was older than the one before it", newer)
			}
		})
	}
}

// TestPart: of a WRITE that is too long for a packet the first ones are placed; it completes.
func TestPart(t *testing.T) {
	seen := map[int]bool{}
	for seed := range 40 {
		g := newRig(t, fabric.UC, fmt.Sprintf("seed=%d; uc.part", seed))
		mtu := g.s.dev.Limits().MTU
		if !g.s.dev.Limits().InOrder {
			t.Fatal("the device promises no order, though the plan leaves it alone")
		}
		n := 2*mtu + 100
		g.s.postOne(g.write(7, writeAt, n))
		g.turn()
		placed := bytes.Count(g.there(n), []byte{7})
		if placed%mtu != 0 || placed == n || bytes.ContainsRune(g.there(placed), 0) || len(g.s.sent) != 1 || g.s.sent[0].Bytes != uint32(n) {
			t.Fatalf("seed %d: %d bytes placed, completions %+v", seed, placed, g.s.sent)
		}
		seen[placed/mtu] = true
		g.s.postOne(g.write(8, writeAt, mtu)) // fits a packet
		g.turn()
		if bytes.Count(g.there(mtu), []byte{8}) != mtu {
			t.Fatalf("seed %d: a WRITE of one packet is placed in part", seed)
		}
	}
	if len(seen) != 3 {
		t.Errorf("only %v packets were placed, want 0, 1 and 2", seen)
	}
}

package faults_test

import (
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
)

// TestNoAllocation: what is not struck costs no allocation, whatever the plan
// has ready (F5).
func TestNoAllocation(t *testing.T) {
	for _, c := range []struct {
		name, plan string
		tr         fabric.Transport
	}{
		{"rc", "seed=1; rc.break=0%; rc.lose=0%", fabric.RC},
		{"uc", "seed=1; uc.drop=0%; uc.delay=0%,1ms; uc.reorder=0%", fabric.UC},
		{"ud", "seed=1; ud.drop=0%; ud.delay=0%,1ms; ud.dup=0%; ud.reorder=0%", fabric.UD},
		{"none", "", fabric.RC},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newRig(t, c.tr, c.plan)
			w, err := g.s.dev.NewWaiter(fabric.WaitConfig{CQs: []fabric.CQ{g.s.cq}})
			must(t, err)
			defer w.Close()
			chain := make([]fabric.WR, 40)
			for i := range chain {
				chain[i] = g.s.message(fabric.OpSend, i)
				chain[i].More = []fabric.Seg{g.s.reg.Seg(0, 4)}
				if i%4 != 3 {
					chain[i].Flags = 0
				}
			}
			var out [16]fabric.Completion
			recvs := []fabric.RecvWR{{Local: g.r.reg.Seg(recvAt(0), fabric.GRHSize+slot)}}
			sent, got := 0, 0
			poll := func() bool {
				g.s.time.now.Add(1000)
				sent += g.s.cq.Poll(out[:])
				for n := g.r.cq.Poll(out[:]); n > 0; n-- {
					if _, err := g.r.qp.PostRecv(recvs); err != nil {
						t.Error(err)
					}
					got++
				}
				return sent == 10 && got == 40
			}
			allocs := testing.AllocsPerRun(100, func() {
				sent, got = 0, 0
				if n, err := g.s.qp.Post(chain); n != len(chain) || err != nil {
					t.Fatal(n, err)
				}
				if !w.Wait(poll, time.Minute) {
					t.Fatalf("%d sent, %d received", sent, got)
				}
			})
			if allocs != 0 {
				t.Errorf("%v allocations per round of %d operations", allocs, len(chain))
			}
		})
	}
}

//go:build linux && !race

package tcp

import (
	"runtime"
	"testing"

	"github.com/remora-kv/remora/fabric"
)

// TestNoAllocation asserts that the data path allocates nothing.
func TestNoAllocation(t *testing.T) {
	a, b := newPair(t, fabric.RC)
	for _, c := range []struct {
		name string
		wrs  []fabric.WR
	}{
		{"READ", []fabric.WR{{Op: fabric.OpRead, Local: b.mem.Seg(0, 64), Remote: a.mem.Remote()}}},
		{"WRITE inline", []fabric.WR{{Op: fabric.OpWrite, Local: b.mem.Seg(0, 64), Remote: a.mem.Remote(), Flags: fabric.FlagInline}}},
		{"WRITE large", []fabric.WR{{Op: fabric.OpWrite, Local: b.mem.Seg(0, 300_000), Remote: a.mem.Remote()}}},
		{"READ large", []fabric.WR{{Op: fabric.OpRead, Local: b.mem.Seg(0, 300_000), Remote: a.mem.Remote()}}},
		{"FETCH_ADD", []fabric.WR{{Op: fabric.OpFetchAdd, Local: b.mem.Seg(0, 8), Remote: a.mem.Remote(), Operand: 1}}},
		{"SEND", []fabric.WR{{Op: fabric.OpSend, Local: b.mem.Seg(0, 64), More: []fabric.Seg{b.mem.Seg(64, 64)}}}},
	} {
		chain := make([]fabric.WR, 8)
		for i := range chain {
			chain[i] = c.wrs[0]
		}
		chain[7].Flags |= fabric.FlagSignaled
		recvs := make([]fabric.RecvWR, 8)
		for i := range recvs {
			recvs[i] = fabric.RecvWR{Local: a.mem.Seg(500_000+i*128, 128)}
		}
		run := func() {
			if c.name == "SEND" {
				if _, err := a.qp.PostRecv(recvs); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := b.qp.Post(chain); err != nil {
				t.Fatal(err)
			}
			// Measuring allocations leaves one processor for both ends.
			for b.cq.Poll(b.buf[:]) == 0 {
				runtime.Gosched()
			}
			for got := 0; c.name == "SEND" && got < 8; {
				got += a.cq.Poll(a.buf[:])
				runtime.Gosched()
			}
		}
		for range 50 {
			run() // buffers grow once
		}
		if n := testing.AllocsPerRun(100, run); n != 0 {
			t.Errorf("%s: %v allocations per chain", c.name, n)
		}
	}
}

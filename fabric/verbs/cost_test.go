//go:build rdma

package verbs

import (
	"fmt"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/arena"
)

// bench is a queue pair on the null adapter: what posting and polling cost
// here, without an adapter's own part.
type bench struct {
	null *nullAdapter
	q    *QP
	cq   *CQ
	wrs  []fabric.WR
	out  []fabric.Completion
}

func newBench(b *testing.B, chain int) *bench {
	b.Helper()
	null, err := newNullAdapter()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(null.close)
	a := arena.New()
	d := &Device{arena: a, clock: fabric.NewClock(), lim: fabric.Limits{
		MaxInline: 512, MaxSegs: 8, MaxDepth: 4096, MaxMessage: 1 << 30, MTU: 4096,
	}}
	dom := &Domain{dev: d}
	desk, err := newDesk(a, d.lim.MaxSegs)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = desk.free() })
	block, err := a.Alloc("test", 4096)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = block.Free() })
	cq := &CQ{dev: d, depth: 4096, desk: desk, hw: hwQueue{cq: null.cq()}}
	cq.seats.Store(emptySeats())
	q := &QP{
		dev: d, domain: dom, transport: fabric.RC, send: cq, recv: cq, hw: null.qp(), done: make(chan struct{}),
		sends: make([]sendSlot, 4096), sendMask: 4095, sendDepth: 4096,
	}
	if err := q.sit(); err != nil {
		b.Fatal(err)
	}
	r := &region{domain: dom, addr: 1 << 20, lkey: 7, size: 4096}
	mem := fabric.NewRegion(fabric.RegionParams{Mem: block.Bytes(), Domain: dom, Provider: r})
	t := &bench{null: null, q: q, cq: cq, wrs: make([]fabric.WR, chain), out: make([]fabric.Completion, chain)}
	for i := range t.wrs {
		t.wrs[i] = fabric.WR{
			ID: uint64(i), Op: fabric.OpWrite, Local: mem.Seg(64*(i%64), 64),
			Remote: fabric.Remote{Addr: 1 << 30, Key: 5}, Flags: fabric.FlagSignaled,
		}
	}
	return t
}

// post posts the chain.
func (t *bench) post(b *testing.B) {
	if n, err := t.q.Post(t.wrs); n != len(t.wrs) {
		b.Fatal(n, err)
	}
}

// BenchmarkCall is a call through cgo that does nothing.
func BenchmarkCall(b *testing.B) {
	t := newBench(b, 1)
	for b.Loop() {
		callNothing(t.cq.desk, 1)
	}
}

// BenchmarkPost posts chains; the number is per request.
func BenchmarkPost(b *testing.B) {
	for _, chain := range []int{1, 2, 4, 16, 32} {
		b.Run(fmt.Sprintf("chain=%d", chain), func(b *testing.B) {
			t := newBench(b, chain)
			b.ReportAllocs()
			for b.Loop() {
				t.post(b)
				t.q.sendRetired, t.q.sendKnown = t.q.sendPosted, t.q.sendPosted
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*chain), "ns/request")
		})
	}
}

// BenchmarkPoll polls batches; the number is per completion. A batch of 0 is a
// poll that finds nothing.
func BenchmarkPoll(b *testing.B) {
	for _, batch := range []int{0, 1, 2, 4, 16, 64} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			t := newBench(b, max(batch, 1))
			b.ReportAllocs()
			var out [64]fabric.Completion
			for i := range t.q.sends {
				t.q.sends[i].flags = fabric.FlagSignaled
			}
			if batch != 0 {
				t.null.complete(t.q.sendID, 1<<30) // one after the other
			}
			for b.Loop() {
				t.q.sendPosted += uint64(batch)
				if n := t.cq.Poll(out[:max(batch, 1)]); n != batch {
					b.Fatalf("polled %d of %d", n, batch)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*max(batch, 1)), "ns/completion")
		})
	}
}

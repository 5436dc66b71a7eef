//go:build rdma

package verbs

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/arena"
	"github.com/remora-kv/remora/test/nulladapter"
)

// bench is a queue pair on the null adapter: what posting and polling cost
// here, without an adapter's own part.
type bench struct {
	null *nulladapter.Adapter
	q    *QP
	cq   *CQ
	wrs  []fabric.WR
	out  []fabric.Completion
}

func newBench(b testing.TB, chain int) *bench {
	b.Helper()
	null, err := nulladapter.New()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(null.Close)
	a := arena.New()
	d := &Device{arena: a, clock: fabric.NewClock(), lim: fabric.Limits{
		MaxInline: 512, MaxSegs: 8, MaxDepth: 4096, MaxMessage: 1 << 30, MTU: 4096,
	}}
	dom := &Domain{dev: d}
	staging, err := newStaging(a, d.lim.MaxSegs)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = staging.free() })
	block, err := a.Alloc("test", 4096)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = block.Free() })
	cq := &CQ{dev: d, staging: staging, hw: hwQueue{cq: hwCQ(null.CQ())}}
	cq.members.Store(noMembers())
	q := &QP{
		dev: d, domain: dom, transport: fabric.RC, lim: d.lim, send: cq, recv: cq, hw: hwQP(null.QP()),
		sends: make([]sendSlot, 4096), sendMask: 4095, sendDepth: 4096,
	}
	q.Begin()
	if err := q.joinCQs(); err != nil {
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
func (t *bench) post(b testing.TB) {
	if n, err := t.q.Post(t.wrs); n != len(t.wrs) {
		b.Fatal(n, err)
	}
}

// BenchmarkCall is a call through cgo that does nothing.
func BenchmarkCall(b *testing.B) {
	t := newBench(b, 1)
	for b.Loop() {
		nulladapter.CallNothing(t.cq.staging.sendAddr, t.cq.staging.doneAddr, 1)
	}
}

// repeats is how often the benchmarks in C do their work in one call.
const repeats = 64

// BenchmarkPost posts chains; the number is per request. c is the same chain
// posted by a loop in C: the difference is what Go pays.
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
	b.Run("alone", func(b *testing.B) {
		t := newBench(b, 1)
		t.post(b)
		for b.Loop() {
			_, _ = t.q.hw.postSend(t.cq.staging, 1)
		}
	})
	for _, chain := range []int{1, 16} {
		b.Run(fmt.Sprintf("c/chain=%d", chain), func(b *testing.B) {
			t := newBench(b, chain)
			t.post(b)
			for b.Loop() {
				nulladapter.RepeatPost(uintptr(t.q.hw), t.cq.staging.sendAddr, chain, repeats)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*repeats*chain), "ns/request")
		})
	}
}

// BenchmarkRing posts a chain and polls its completions, which are there at
// once. The number is for one request from post to completion.
func BenchmarkRing(b *testing.B) {
	for _, chain := range []int{1, 16} {
		b.Run(fmt.Sprintf("chain=%d", chain), func(b *testing.B) {
			t := newBench(b, chain)
			t.null.Complete(t.q.sendID, -1)
			b.ReportAllocs()
			for b.Loop() {
				t.post(b)
				for left := chain; left > 0; {
					left -= t.cq.Poll(t.out)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*chain), "ns/request")
		})
	}
}

// BenchmarkPoll polls batches; the number is per completion. A batch of 0 is a
// poll that finds nothing. c is the same by a loop in C.
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
				t.null.Complete(t.q.sendID, 1<<30) // one after the other
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
	for _, batch := range []int{0, 1, 16} {
		b.Run(fmt.Sprintf("c/batch=%d", batch), func(b *testing.B) {
			t := newBench(b, 1)
			for b.Loop() {
				t.null.Complete(t.q.sendID, int32max*min(batch, 1))
				nulladapter.RepeatPoll(uintptr(t.cq.hw.cq), max(batch, 1), t.cq.staging.doneAddr, repeats)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*repeats*max(batch, 1)), "ns/completion")
		})
	}
}

const int32max = 1<<31 - 1

// rig is a queue pair on a real adapter that is connected to another one of
// this process.
type rig struct {
	dev  *Device
	cq   *CQ
	q    *QP
	wrs  []fabric.WR
	out  []fabric.Completion
	spun time.Duration // in the timed part
}

// newRig connects two queue pairs of the adapter that REMORA_RDMA_DEVICE
// names, or of any.
func newRig(b *testing.B, chain int) *rig {
	b.Helper()
	d, err := New(Config{Device: os.Getenv("REMORA_RDMA_DEVICE")})
	if err != nil {
		b.Skip(err)
	}
	var closers []func() error
	b.Cleanup(func() {
		for i := len(closers) - 1; i >= 0; i-- {
			_ = closers[i]()
		}
	})
	must := func(err error) {
		if err != nil {
			b.Helper()
			b.Fatal(err)
		}
	}
	closers = append(closers, d.Close)
	dom, err := d.NewDomain()
	must(err)
	closers = append(closers, dom.Close)
	mem, err := dom.Alloc("bench", 1<<16, fabric.RemoteRead|fabric.RemoteWrite)
	must(err)
	closers = append(closers, mem.Close)
	l, err := d.Listen(fabric.Addr{Fabric: "rdma", Name: "127.0.0.1:0"}, fabric.ListenConfig{})
	must(err)
	closers = append(closers, l.Close)
	config := func() fabric.QPConfig {
		cq, err := d.NewCQ(256)
		must(err)
		closers = append(closers, cq.Close)
		return fabric.QPConfig{Transport: fabric.RC, Domain: dom, SendCQ: cq, RecvCQ: cq, SendDepth: 128, RecvDepth: 16}
	}
	near, far := config(), config()
	accepted := make(chan error, 1)
	go func() {
		r, err := l.Accept(context.Background())
		if err == nil {
			var q fabric.QP
			if q, err = r.Accept(context.Background(), far, nil); err == nil {
				closers = append(closers, q.Close)
			}
		}
		accepted <- err
	}()
	q, err := d.Dial(context.Background(), l.Addr(), near, nil)
	must(err)
	must(<-accepted)
	closers = append(closers, q.Close)
	t := &rig{dev: d, out: make([]fabric.Completion, chain), wrs: make([]fabric.WR, chain)}
	t.cq, t.q = near.SendCQ.(*CQ), q.(*QP) //lint:ignore errcheck they are of this package
	for i := range t.wrs {
		t.wrs[i] = fabric.WR{
			ID: uint64(i), Op: fabric.OpWrite, Local: mem.Seg(64*i, 64), Remote: mem.Remote().At(1<<15 + 64*i),
			Flags: fabric.FlagSignaled,
		}
	}
	return t
}

// drain waits until all requests are done.
func (t *rig) drain(b *testing.B, left int) {
	for left > 0 {
		n := t.cq.Poll(t.out)
		for i := range t.out[:n] {
			if err := t.out[i].Err(); err != nil {
				b.Fatal(err)
			}
		}
		left -= n
	}
}

// pause lets the adapter finish what was posted, without looking at its queue.
func (t *rig) pause(d time.Duration) {
	for start := t.dev.clock.Now(); t.dev.clock.Now()-start < int64(d); {
	}
}

// timed adds up the time of one step.
func (t *rig) timed(step func()) {
	start := t.dev.clock.Now()
	step()
	t.spun += time.Duration(t.dev.clock.Now() - start)
}

// BenchmarkAdapter is the same on a real adapter, of which there must be one:
// a post with all that the adapter does in it, a poll that finds nothing and
// one that finds a chain. Soft-RoCE executes requests in the kernel, mostly
// before the post returns.
func BenchmarkAdapter(b *testing.B) {
	for _, chain := range []int{1, 16} {
		b.Run(fmt.Sprintf("post/chain=%d", chain), func(b *testing.B) {
			t := newRig(b, chain)
			along := 0
			for b.Loop() {
				t.timed(func() { _, _ = t.q.Post(t.wrs) })
				along += t.cq.aheadEnd - t.cq.ahead
				t.drain(b, chain)
			}
			b.ReportMetric(float64(t.spun.Nanoseconds())/float64(b.N*chain), "ns/request")
			b.ReportMetric(100*float64(along)/float64(b.N*chain), "%along")
		})
		b.Run(fmt.Sprintf("poll/batch=%d", chain), func(b *testing.B) {
			t := newRig(b, chain)
			found := 0
			for b.Loop() {
				_, _ = t.q.Post(t.wrs)
				t.pause(time.Millisecond * time.Duration(chain) / 4)
				n := 0
				t.timed(func() { n = t.cq.Poll(t.out) })
				found += n
				t.drain(b, chain-n)
			}
			b.ReportMetric(float64(t.spun.Nanoseconds())/float64(max(found, 1)), "ns/completion")
		})
	}
	b.Run("poll/batch=0", func(b *testing.B) {
		t := newRig(b, 1)
		for b.Loop() {
			t.cq.Poll(t.out)
		}
	})
	b.Run("poll/c/batch=0", func(b *testing.B) {
		t := newRig(b, 1)
		for b.Loop() {
			nulladapter.RepeatPoll(uintptr(t.cq.hw.cq), 1, t.cq.staging.doneAddr, repeats)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*repeats), "ns/completion")
	})
}

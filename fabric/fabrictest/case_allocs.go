package fabrictest

import (
	"runtime"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/test/scale"
)

const (
	rulePostAlloc = "It does not block and does not allocate."
	rulePollAlloc = "It never blocks and never allocates."
)

func allocCases() []*testCase {
	return join(
		each("allocs/send", rulePostAlloc, allocsSend, fabric.RC, fabric.UC, fabric.UD),
		each("allocs/write", rulePostAlloc, allocsWrite, fabric.RC, fabric.UC),
		each("allocs/read", rulePostAlloc, allocsRead, fabric.RC),
		each("allocs/atomic", rulePostAlloc, allocsAtomic, fabric.RC),
		each("allocs/poll", rulePollAlloc, allocsPoll, fabric.RC),
		one("allocs/wait", "Wait does not allocate.", allocsWait),
	)
}

// wantNoAllocs runs f many times and counts allocations of the whole process.
func (t *trial) wantNoAllocs(what string, f func()) {
	t.Helper()
	if scale.Race {
		f()
		return
	}
	const runs = 200
	for range runs { // let queues and caches grow
		f()
	}
	if n := testing.AllocsPerRun(runs, f); n != 0 {
		t.Fatalf("%s: %v allocations each time", what, n)
	}
}

// drain polls the completion queues of both ends, without allocating, until n
// completions have come.
func (p *pair) drain(buf []fabric.Completion, n int) {
	for spins := 0; n > 0; spins++ {
		for _, cq := range p.b.cqs {
			n -= p.good(buf[:cq.Poll(buf)])
		}
		for _, cq := range p.a.cqs {
			n -= p.good(buf[:cq.Poll(buf)])
		}
		if spins > 4 {
			p.t.check()
			runtime.Gosched()
		}
	}
}

func (p *pair) good(cs []fabric.Completion) int {
	for i := range cs {
		if cs[i].Status != fabric.StatusOK {
			p.t.Fatalf("%v", cs[i].Err())
		}
	}
	return len(cs)
}

// chain posts wrs, ready-made, without allocating.
func (p *pair) chain(wrs []fabric.WR) {
	if n, err := p.b.qp.Post(wrs); n != len(wrs) || err != nil {
		p.t.must("Post", err)
		p.t.Fatalf("Post took %d of %d", n, len(wrs))
	}
}

func allocsSend(t *trial, tr fabric.Transport) {
	p := t.pair(pairConfig{tr: tr})
	var buf [64]fabric.Completion
	for _, v := range []variant{{size: 64, signaled: true}, {size: 64, signaled: true, inline: true}, {size: 200, signaled: true}} {
		if v.inline && v.size > p.b.dev.Limits().MaxInline || v.size > t.mtu() {
			continue
		}
		wrs := []fabric.WR{v.apply(p.b.sendFrom(0, v.size))}
		recv := []fabric.RecvWR{p.a.recvAt(1024, v.size)}
		if tr != fabric.RC {
			// A message that is dropped leaves its receive behind: post only
			// when there is none.
			outstanding := 0
			t.wantNoAllocs("SEND of "+v.String(), func() {
				if outstanding == 0 {
					p.a.postRecvChain(recv)
					outstanding = 1
				}
				p.chain(wrs)
				p.drainSends(buf[:], &outstanding)
			})
			continue
		}
		t.wantNoAllocs("SEND of "+v.String(), func() {
			p.a.postRecvChain(recv)
			p.chain(wrs)
			p.drain(buf[:], 2)
		})
	}
}

// postRecvChain posts receives, ready-made, without allocating.
func (e *end) postRecvChain(recv []fabric.RecvWR) {
	if n, err := e.qp.PostRecv(recv); n != len(recv) || err != nil {
		e.t.Fatalf("PostRecv took %d of %d: %v", n, len(recv), err)
	}
}

// drainSends polls until a send completion has come, and a little longer for
// the receive.
func (p *pair) drainSends(buf []fabric.Completion, outstanding *int) {
	sent := false
	for spins := 0; !sent || (*outstanding > 0 && spins < 100); spins++ {
		n := p.b.sendCQ().Poll(buf)
		sent = sent || p.good(buf[:n]) > 0
		*outstanding -= p.good(buf[:p.a.recvCQ().Poll(buf)])
		if spins > 4 {
			p.t.check()
			runtime.Gosched()
		}
	}
}

func allocsWrite(t *trial, tr fabric.Transport) {
	p := t.pair(pairConfig{tr: tr})
	var buf [64]fabric.Completion
	one := []fabric.WR{p.b.writeTo(p.a.mem.Remote(), 0, 64)}
	t.wantNoAllocs("WRITE", func() { p.chain(one); p.drain(buf[:], 1) })
	if p.b.dev.Limits().MaxInline >= 64 {
		in := []fabric.WR{inline(one[0])}
		t.wantNoAllocs("inline WRITE", func() { p.chain(in); p.drain(buf[:], 1) })
	}
	gather := []fabric.WR{one[0]}
	gather[0].More = []fabric.Seg{p.b.mem.Seg(128, 64)}
	t.wantNoAllocs("WRITE of two segments", func() { p.chain(gather); p.drain(buf[:], 1) })
	var chain []fabric.WR
	for range 15 {
		chain = append(chain, unsignaled(one[0]))
	}
	chain = append(chain, one[0])
	t.wantNoAllocs("chain of 16 WRITEs", func() { p.chain(chain); p.drain(buf[:], 1) })
}

func allocsRead(t *trial, tr fabric.Transport) {
	p := t.pair(pairConfig{tr: tr})
	var buf [64]fabric.Completion
	for _, size := range []int{8, 64, 8192} {
		wrs := []fabric.WR{p.b.readFrom(p.a.mem.Remote(), 0, size)}
		t.wantNoAllocs("READ", func() { p.chain(wrs); p.drain(buf[:], 1) })
	}
}

func allocsAtomic(t *trial, tr fabric.Transport) {
	t.needAtomics()
	p := t.pair(pairConfig{tr: tr})
	var buf [64]fabric.Completion
	add := []fabric.WR{p.b.fetchAdd(p.a.mem.Remote(), 0, 1), p.b.cmpSwap(p.a.mem.Remote(), 0, 1, 2)}
	t.wantNoAllocs("FETCH_ADD and CMP_SWAP", func() { p.chain(add); p.drain(buf[:], 2) })
}

func allocsPoll(t *trial, tr fabric.Transport) {
	p := t.pair(pairConfig{tr: tr})
	var buf [64]fabric.Completion
	t.wantNoAllocs("Poll of nothing", func() {
		p.a.cqs[0].Poll(buf[:])
		p.b.cqs[0].Poll(buf[:])
	})
	p.b.post(p.b.sendFrom(0, 8)) // waits for its receive
	t.wantNoAllocs("Poll with a request that waits", func() {
		p.a.cqs[0].Poll(buf[:])
		p.b.cqs[0].Poll(buf[:])
	})
}

// allocsWait waits by a waiter, one that sleeps and one that does not need to.
func allocsWait(t *trial) {
	p := t.pair(pairConfig{})
	w := t.waiter(p.a.dev, fabric.WaitConfig{CQs: p.a.cqs, Spin: 1})
	var buf [64]fabric.Completion
	wrs, recv := []fabric.WR{p.b.sendFrom(0, 8)}, []fabric.RecvWR{p.a.recvAt(0, 8)}
	got := 0
	poll := func() bool {
		got += p.good(buf[:p.a.cqs[0].Poll(buf[:])])
		p.good(buf[:p.b.cqs[0].Poll(buf[:])])
		return got > 0
	}
	t.wantNoAllocs("Wait for a message", func() {
		p.a.postRecvChain(recv)
		p.chain(wrs)
		got = 0
		if !w.Wait(poll, t.patience()) {
			t.Fatalf("no message came")
		}
	})
	nothing := func() bool { return false }
	t.wantNoAllocs("Wait for nothing", func() { w.Wait(nothing, 20_000) })
}

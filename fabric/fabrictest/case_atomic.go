package fabrictest

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
)

const (
	ruleAtomic = "FETCH_ADD and CMP_SWAP on one aligned word are atomic against each other from all queue pairs of the target's device, " +
		"and against nothing else: not against the target's CPU, not against WRITE."
	ruleOld = "They return the word as it was before, in the byte order of the hosts."
)

func atomicCases() []*testCase {
	cases := join(
		one("G6/results", ruleOld, atomicResults),
		one("G6/unsignaled", ruleOld, atomicUnsignaled),
		one("G6/fetch-add-unique", ruleAtomic, fetchAddUnique),
		one("G6/cmp-swap-counter", ruleAtomic, cmpSwapCounter),
		one("G6/cmp-swap-lock", ruleAtomic, cmpSwapLock),
		one("G6/both-kinds", ruleAtomic, bothKinds),
	)
	for _, c := range cases {
		run := c.run
		c.run = func(t *trial) {
			t.needAtomics()
			run(t)
		}
	}
	return cases
}

// atomicResults checks the words at both ends after each operation.
func atomicResults(t *trial) {
	p := t.pair(pairConfig{})
	const at, to = 4096, 128
	word := uint64(0x0102030405060708)
	p.a.mem.putWord(at, word)
	check := func(what string) {
		t.Helper()
		p.b.mem.verify(what + ": the former word")
		p.a.mem.verify(what + ": the target")
	}
	for _, add := range []uint64{0, 1, 0xff, 1 << 32, ^uint64(0), 1 << 63, 0xfedcba9876543210} {
		w := p.b.fetchAdd(p.a.mem.Remote().At(at), to, add)
		t.wantDone(p.do(p.b, w)[0], w)
		p.b.mem.expectWord(to, word)
		word += add
		p.a.mem.expectWord(at, word)
		check(fmt.Sprintf("FETCH_ADD of %#x", add))
	}
	for _, swap := range []struct{ compare, operand uint64 }{
		{word, 7}, {7, 7}, {8, 9}, {7, 0}, {0, ^uint64(0)}, {^uint64(0), 0x1122334455667788}, {0x8877665544332211, 5},
	} {
		w := p.b.cmpSwap(p.a.mem.Remote().At(at), to, swap.compare, swap.operand)
		t.wantDone(p.do(p.b, w)[0], w)
		p.b.mem.expectWord(to, word)
		if word == swap.compare {
			word = swap.operand
		}
		p.a.mem.expectWord(at, word)
		check(fmt.Sprintf("CMP_SWAP of %#x for %#x", swap.operand, swap.compare))
	}
	p.quiet()
}

// atomicUnsignaled posts atomics without signals, in chains with other
// operations.
func atomicUnsignaled(t *trial) {
	p := t.pair(pairConfig{})
	p.a.mem.putWord(0, 0)
	sum := uint64(0)
	for range t.times(100) {
		var wrs []fabric.WR
		for i := range 20 {
			wrs = append(wrs, unsignaled(p.b.fetchAdd(p.a.mem.Remote(), 8*i, uint64(i))))
			p.b.mem.expectWord(8*i, sum)
			sum += uint64(i)
		}
		wrs = append(wrs, p.b.readFrom(p.a.mem.Remote(), 512, 8))
		p.b.mem.expectWord(512, sum)
		p.do(p.b, wrs...)
		p.a.mem.expectWord(0, sum)
		p.b.mem.verify("former words")
		p.a.mem.verify("the sum")
	}
}

// workers connects n queue pairs from B to A, each with an owner of its own,
// and runs f for each in a goroutine.
func (t *trial) workers(n int, f func(i int, e *end)) {
	var pairs []*pair
	for range n {
		pairs = append(pairs, t.pair(pairConfig{size: 4096}))
	}
	c := t.crew()
	for i, p := range pairs {
		c.run(func() { f(i, p.b) })
	}
	c.join()
}

// wait1 polls for one good completion.
func (e *end) wait1(what string) {
	e.t.Helper()
	e.t.await(what, func() bool { return len(e.sent) > 0 }, e.owner)
	e.takeSent(1)
}

const atomicWorkers = 8

func fetchAddUnique(t *trial) {
	target := t.mem(t.domain(t.world.A), 4096, everything)
	target.putWord(64, 0)
	each := t.times(1000)
	seen := make([]atomic.Bool, atomicWorkers*each)
	t.workers(atomicWorkers, func(i int, e *end) {
		const window = 16
		for left := each; left > 0; {
			n := min(left, window)
			for k := range n {
				e.post(e.fetchAdd(target.Remote().At(64), 8*k, 1))
			}
			t.await("atomics", func() bool { return len(e.sent) >= n }, e.owner)
			e.takeSent(n)
			last := uint64(0)
			for k := range n {
				old := e.mem.word(8 * k)
				if old >= uint64(len(seen)) || seen[old].Swap(true) {
					t.Fatalf("worker %d: the former value %d was returned twice or never was", i, old)
				}
				if old < last {
					t.Fatalf("worker %d: %d was returned after %d", i, old, last)
				}
				last = old
			}
			left -= n
		}
	})
	if v := target.word(64); v != uint64(atomicWorkers*each) {
		t.Fatalf("the sum is %d, want %d", v, atomicWorkers*each)
	}
}

func cmpSwapCounter(t *trial) {
	target := t.mem(t.domain(t.world.A), 4096, everything)
	target.putWord(8, 0)
	each := t.times(300)
	t.workers(atomicWorkers, func(i int, e *end) {
		guess := uint64(0)
		for done := 0; done < each; {
			e.post(e.cmpSwap(target.Remote().At(8), 0, guess, guess+1))
			e.wait1("CMP_SWAP")
			old := e.mem.word(0)
			if old == guess {
				done++
				guess++
			} else {
				guess = old
			}
		}
	})
	if v := target.word(8); v != uint64(atomicWorkers*each) {
		t.Fatalf("the counter is %d, want %d", v, atomicWorkers*each)
	}
}

// cmpSwapLock protects a counter that is read and written by READ and WRITE
// with a lock taken and released by CMP_SWAP.
func cmpSwapLock(t *trial) {
	target := t.mem(t.domain(t.world.A), 4096, everything)
	target.putWord(0, 0)
	target.putWord(512, 0)
	each := t.times(150)
	var inside atomic.Int32
	t.workers(4, func(i int, e *end) {
		lock, count := target.Remote(), target.Remote().At(512)
		me := uint64(i + 1)
		for range each {
			for {
				e.post(e.cmpSwap(lock, 0, 0, me))
				e.wait1("CMP_SWAP to take the lock")
				if e.mem.word(0) == 0 {
					break
				}
			}
			if inside.Add(1) != 1 {
				t.Fatalf("worker %d has the lock, and another one too", i)
			}
			e.post(e.readFrom(count, 8, 8))
			e.wait1("READ")
			e.mem.putWord(16, e.mem.word(8)+1)
			e.post(e.writeTo(count, 16, 8))
			e.wait1("WRITE")
			inside.Add(-1)
			e.post(e.cmpSwap(lock, 0, me, 0))
			e.wait1("CMP_SWAP to give the lock back")
			if old := e.mem.word(0); old != me {
				t.Fatalf("worker %d had the lock, and the word says %d", i, old)
			}
		}
	})
	if v := target.word(512); v != uint64(4*each) {
		t.Fatalf("the counter is %d, want %d", v, 4*each)
	}
}

// bothKinds adds to one half of a word by FETCH_ADD and to the other by
// CMP_SWAP.
func bothKinds(t *trial) {
	target := t.mem(t.domain(t.world.A), 4096, everything)
	target.putWord(0, 0)
	each := t.times(300)
	var mu sync.Mutex
	var low, high uint64
	t.workers(atomicWorkers, func(i int, e *end) {
		adds, swaps := uint64(0), uint64(0)
		for adds+swaps < uint64(each) {
			if i%2 == 0 {
				e.post(e.fetchAdd(target.Remote(), 0, 1))
				e.wait1("FETCH_ADD")
				adds++
				continue
			}
			old := e.mem.word(0)
			e.post(e.cmpSwap(target.Remote(), 0, old, old+1<<32))
			e.wait1("CMP_SWAP")
			if e.mem.word(0) == old {
				swaps++
			}
		}
		mu.Lock()
		defer mu.Unlock()
		low += adds
		high += swaps
	})
	if v := target.word(0); v != low+high<<32 {
		t.Fatalf("the word is %#x, want %#x", v, low+high<<32)
	}
}

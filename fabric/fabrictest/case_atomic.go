package fabrictest

import (
	"slices"
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
		one("G6/unsignaled", ruleOld, atomicUnsignaled),
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

func peerAtomicCases() []*testCase {
	return join(
		peers("G6/fetch-add-shared", ruleAtomic, sharedFetchAdd, fabric.RC),
		peers("G6/cmp-swap-shared", ruleAtomic, sharedCmpSwap, fabric.RC),
	)
}

// adder is a queue pair that counts a word up.
type adder struct {
	*end
	at    fabric.Remote
	guess uint64 // of the word
	won   int
}

// adders are the queue pairs of this side, all driven by one goroutine.
type adders struct {
	p      *peer
	list   []*adder
	owners []*owner
	word   *mem // the word of this side is at 0
	others int  // adders of the other side at it
}

const addersPerSide = 4

// adders connects several queue pairs to the other side's word. The server has
// one more to its own: it is on the device of the word, those of the client are
// not.
func (p *peer) adders() *adders {
	p.Helper()
	p.needBothAtomics()
	o := p.owner(p.dev, p.domain(p.dev), addersPerSide*128, false)
	a := &adders{p: p, owners: []*owner{o}, others: addersPerSide}
	for range addersPerSide {
		l := p.connectOn(o, pairConfig{size: 4096})
		a.list = append(a.list, &adder{end: l.end, at: l.remote})
		if a.word == nil {
			a.word = l.mem
			a.word.putWord(0, 0)
		}
	}
	// All at the word of the first.
	for _, x := range a.list {
		x.at = a.list[0].at
	}
	if p.role == Server {
		own := p.pair(pairConfig{size: 4096})
		a.list = append(a.list, &adder{end: own.b, at: a.word.Remote()})
		a.owners = append(a.owners, own.a.owner, own.b.owner)
	}
	p.meet("adders", a.owners...)
	return a
}

// atOwn are how many of this side's adders count its own word.
func (a *adders) atOwn() int { return len(a.list) - addersPerSide }

// sharedFetchAdd has all of them add 1 at the same time, in chains. Every former
// value comes back once.
func sharedFetchAdd(p *peer, tr fabric.Transport) {
	a := p.adders()
	const chain = 8
	rounds := p.times(60)
	var mine, theirs []uint64 // former values of this side's word, and of the other's
	for range rounds {
		for _, x := range a.list {
			for k := range chain {
				x.post(x.fetchAdd(x.at, 1024+8*k, 1))
			}
		}
		for i, x := range a.list {
			p.await("FETCH_ADDs", func() bool { return len(x.sent) >= chain }, a.owners...)
			x.takeSent(chain)
			for k := range chain {
				v := x.mem.word(1024 + 8*k)
				if k > 0 && v < x.mem.word(1024+8*(k-1)) {
					p.Fatalf("%d was returned after %d", v, x.mem.word(1024+8*(k-1)))
				}
				if i < addersPerSide {
					theirs = append(theirs, v)
				} else {
					mine = append(mine, v)
				}
			}
		}
	}
	p.say(theirs)
	var found []uint64
	p.hear(&found, a.owners...)
	all := slices.Concat(mine, found)
	slices.Sort(all)
	want := (a.others + a.atOwn()) * rounds * chain
	for i, v := range all {
		if v != uint64(i) {
			p.Fatalf("of %d values the one at %d is %d: the sequence has a gap or a double", len(all), i, v)
		}
	}
	if got := a.word.word(0); got != uint64(want) || len(all) != want {
		p.Fatalf("%d FETCH_ADDs of 1 made %d and gave %d values", want, got, len(all))
	}
}

// sharedCmpSwap has all of them count by CMP_SWAP.
func sharedCmpSwap(p *peer, tr fabric.Transport) {
	a := p.adders()
	each := p.times(150)
	for running := true; running; {
		running = false
		for _, x := range a.list {
			if x.won < each {
				x.post(x.cmpSwap(x.at, 1024, x.guess, x.guess+1))
				running = true
			}
		}
		for _, x := range a.list {
			if x.won == each {
				continue
			}
			p.await("a CMP_SWAP", func() bool { return len(x.sent) > 0 }, a.owners...)
			x.takeSent(1)
			if old := x.mem.word(1024); old == x.guess {
				x.won++
				x.guess++
			} else {
				x.guess = old
			}
		}
	}
	p.meet("counted", a.owners...)
	want := (a.others + a.atOwn()) * each
	if got := a.word.word(0); got != uint64(want) {
		p.Fatalf("%d successful CMP_SWAPs made %d", want, got)
	}
}

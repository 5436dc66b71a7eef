package fabrictest

import (
	"slices"

	"github.com/remora-kv/remora/fabric"
)

func twoAtomicCases() []*twoCase {
	return join(
		twoEach("G6/fetch-add-shared", ruleAtomic, twoFetchAdd, fabric.RC),
		twoEach("G6/cmp-swap-shared", ruleAtomic, twoCmpSwap, fabric.RC),
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
	p      *party
	list   []*adder
	owners []*owner
	word   *mem // the word of this side is at 0
	others int  // adders of the other side at it
}

const addersPerSide = 3

// adders connects several queue pairs to the other side's word. The server has
// one more to its own: it is on the device of the word, those of the client are
// not.
func (p *party) adders() *adders {
	p.Helper()
	p.needBothAtomics()
	o := p.owner(p.dev, p.domain(p.dev), addersPerSide*128, false)
	a := &adders{p: p, owners: []*owner{o}, others: addersPerSide}
	for range addersPerSide {
		l := p.connectOn(o, pairConfig{size: 4096})
		a.list = append(a.list, &adder{end: l.end, at: l.peer})
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

// twoFetchAdd has all of them add 1 at the same time, in chains. Every former
// value comes back once.
func twoFetchAdd(p *party, tr fabric.Transport) {
	a := p.adders()
	const chain = 8
	rounds := p.times(16)
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

// twoCmpSwap has all of them count by CMP_SWAP.
func twoCmpSwap(p *party, tr fabric.Transport) {
	a := p.adders()
	each := p.times(40)
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

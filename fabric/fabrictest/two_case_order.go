package fabrictest

import (
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
)

func twoOrderCases() []*twoCase {
	return join(
		twoEach("G2/last-byte-last", rulePlace, twoLastByte, fabric.RC, fabric.UC),
		twoEach("G3/write-then-message", ruleVisible, twoWriteThenMessage, fabric.RC),
	)
}

// The slots that twoLastByte writes to, chain by chain: the first may all be
// there before the other side looks.
const (
	hammerSlots  = 48
	hammerChain  = 6
	hammerStride = 4096 + 64
)

var hammerSizes = []int{1, 2, 7, 8, 9, 63, 64, 65, 100, 511, 512, 1000, 2048, 3000, 4095, 4096}

// hammerPlace says where WRITE k of a batch goes, how long it is, and its number.
func hammerPlace(batch, k int) (at, n, g int) {
	return k*hammerStride + (batch+k)%9, hammerSizes[(batch+5*k)%len(hammerSizes)], batch*hammerSlots + k + 1
}

// hammerValue is what WRITE g writes: words that name it and their place, and
// a last byte that is neither 0 nor that of the WRITE before.
func hammerValue(g, n int) []byte {
	b := pattern(g).bytes(0, n)
	b[n-1] = generation(g)
	return b
}

// twoLastByte writes batches of self-describing values; the CPU of the target
// watches the last byte of one of them and, when it is there, looks at all of
// it and of those before.
func twoLastByte(p *party, tr fabric.Transport) {
	l := p.connect(pairConfig{tr: tr, size: hammerSlots * hammerStride})
	batches := p.times(32)
	p.turns(func() {
		p.meet("zeroes", l.owner)
		for batch := range batches {
			var wrs []fabric.WR
			for k := range hammerSlots {
				at, n, g := hammerPlace(batch, k)
				l.mem.put(at, hammerValue(g, n))
				wrs = append(wrs, unsignaled(l.writeTo(l.peer.At(at), at, n)))
			}
			for chain := range slices.Chunk(wrs, hammerChain) {
				chain[hammerChain-1].Flags |= fabric.FlagSignaled
				l.do(chain...)
			}
			p.meet("written", l.owner)
		}
	}, func() {
		l.mem.put(0, make([]byte, l.mem.Len()))
		p.meet("zeroes", l.owner)
		arrived := 0
		for batch := range batches {
			arrived += l.watchBatch(batch)
			p.meet("written", l.owner)
		}
		if arrived < batches {
			p.Fatalf("only %d of %d WRITEs arrived", arrived, batches*hammerSlots)
		}
	})
}

// watchBatch looks at a batch while it comes in and returns how many WRITEs of
// it arrived.
func (l *link) watchBatch(batch int) int {
	p, tr := l.p, l.cfg.Transport
	p.Helper()
	step := 1 + batch%8 // how many are looked at together
	arrived := 0
	for k := 0; k < hammerSlots; k += step {
		last := min(k+step, hammerSlots) - 1
		for i := last; i >= k; i-- {
			at, n, g := hammerPlace(batch, i)
			place := l.mem.Bytes()[at : at+n]
			there := func() bool { return fence.ObserveByte(&place[n-1]) == generation(g) }
			if tr == fabric.RC && i < last {
				if !there() {
					p.Fatalf("batch %d: WRITE %d is there, the last byte of WRITE %d is not", batch, last, i)
				}
			} else if !p.arrives(fmt.Sprintf("WRITE %d of %d bytes", g, n), tr, there) {
				continue // dropped, the others are not
			}
			arrived++
			got, want := snapshot(place), hammerValue(g, n)
			if d := firstDifference(got, want); d >= 0 {
				p.Fatalf("WRITE %d of %d bytes to %d: the last byte is there, and %s", g, n, at, explain(got, want, d))
			}
		}
	}
	for k := range hammerSlots {
		at, n, _ := hammerPlace(batch, k)
		l.mem.put(at, make([]byte, n))
	}
	return arrived
}

// twoWriteThenMessage reads what was written plainly, once the message behind
// it has arrived.
func twoWriteThenMessage(p *party, tr fabric.Transport) {
	const slots, stride, src = 4, 20 << 10, 4 * 20 << 10
	sizes := []int{1, 8, 64, 1000, 4096, 20000}
	l := p.connect(pairConfig{tr: tr, size: 5 * stride})
	rounds := p.times(100)
	l.postRecv(l.recvAt(0, 0))
	p.meet("receives", l.owner)
	p.turns(func() {
		for i := range rounds {
			n := sizes[i%len(sizes)]
			l.mem.write(src, pattern(i+1), n)
			bell := l.sendFrom(0, 0)
			if i%2 == 1 {
				bell = l.writeImmTo(l.peer, 0, 0, uint32(i))
			}
			l.do(unsignaled(l.writeTo(l.peer.At(i%slots*stride), src, n)), bell)
			l.got(1)
			l.postRecv(l.recvAt(0, 0))
		}
	}, func() {
		for i := range rounds {
			l.got(1)
			n := sizes[i%len(sizes)]
			// Plainly: the completion has ordered it.
			got := append([]byte(nil), l.mem.Bytes()[i%slots*stride:][:n]...)
			want := pattern(i+1).bytes(0, n)
			if d := firstDifference(got, want); d >= 0 {
				p.Fatalf("message %d is there and the WRITE of %d bytes before is not: %s", i, n, explain(got, want, d))
			}
			l.postRecv(l.recvAt(0, 0))
			l.do(l.sendFrom(0, 0))
		}
	})
}

func twoWordCases() []*twoCase {
	return join(
		twoEach("G5/write-against-cpu", ruleWords, twoWordsWritten, fabric.RC, fabric.UC),
		twoEach("G5/cpu-against-read", ruleWords, twoWordsRead, fabric.RC),
	)
}

// The words of a target are the first wordArea bytes. Behind them are as many
// places of an initiator as it has requests in a chain.
const (
	wordChain = 8
	wordPlace = wordArea + 8
	wordRoom  = wordArea + wordChain*wordPlace
)

// wordChains posts chains of requests for random words, made by one with the
// place, the offset and the length of each, and has done look at each place.
func (l *link) wordChains(one func(to fabric.Remote, place, n int) fabric.WR, done func(place, at, n int)) {
	l.t.Helper()
	rng := l.t.random(0)
	for range l.t.times(75) {
		var wrs []fabric.WR
		var at [wordChain]int
		for k := range wordChain {
			n := wordLengths[rng.IntN(len(wordLengths))]
			at[k] = rng.IntN(wordArea-n+1) &^ 7
			// The local side may be at any alignment.
			wrs = append(wrs, unsignaled(one(l.peer.At(at[k]), wordArea+k*wordPlace+rng.IntN(8), n)))
		}
		wrs[wordChain-1].Flags |= fabric.FlagSignaled
		l.do(wrs...)
		for k, w := range wrs {
			done(w.Local.Off, at[k], w.Local.Len)
		}
	}
}

// twoWordsWritten writes words while the CPU of the target looks at them.
func twoWordsWritten(p *party, tr fabric.Transport) {
	l := p.connect(pairConfig{tr: tr, size: wordRoom})
	p.turns(func() {
		p.meet("zeroes", l.owner)
		g := 0
		l.wordChains(func(to fabric.Remote, place, n int) fabric.WR {
			g++
			equalBytes(l.mem.Bytes()[place:place+n], byte(g))
			return l.writeTo(to, place, n)
		}, func(place, at, n int) {})
		p.meet("written", l.owner)
	}, func() {
		l.mem.put(0, make([]byte, wordArea))
		p.meet("zeroes", l.owner)
		p.beside(func(int) {
			got := snapshot(l.mem.Bytes()[:wordArea])
			if d := torn(got, 0); d >= 0 {
				p.Fatalf("CPU sees a torn word at %d: %x", d, got[d:d+8])
			}
		}, func() { p.meet("written") })
	})
}

// twoWordsRead reads words while the CPU of the target changes them.
func twoWordsRead(p *party, tr fabric.Transport) {
	l := p.connect(pairConfig{tr: tr, size: wordRoom})
	p.turns(func() {
		p.meet("zeroes", l.owner)
		l.wordChains(l.readFrom, func(place, at, n int) {
			got := l.mem.Bytes()[place : place+n]
			if d := torn(got, 0); d >= 0 {
				p.Fatalf("READ of %d bytes at %d: torn word at %d: %x", n, at, at+d, got[d:d+8])
			}
		})
		p.meet("read", l.owner)
	}, func() {
		l.mem.put(0, make([]byte, wordArea))
		p.meet("zeroes", l.owner)
		rng, src := p.random(1), make([]byte, wordArea)
		p.beside(func(i int) {
			n := wordLengths[rng.IntN(len(wordLengths))]
			at := rng.IntN(wordArea-n+1) &^ 7
			equalBytes(src[:n], byte(i))
			fence.CopyOut(l.mem.Bytes()[at:at+n], src[:n])
		}, func() { p.meet("read") })
	})
}

// beside repeats again in a goroutine of its own while do runs.
func (p *party) beside(again func(i int), do func()) {
	p.Helper()
	var over atomic.Bool
	c := p.crew()
	c.run(func() {
		for i := 0; !over.Load(); i++ {
			p.check()
			again(i)
			// By turns at full speed and not at all: the other side may have
			// no other processor.
			if i%512 == 511 {
				breathe(spins, nil)
			}
			runtime.Gosched()
		}
	})
	do()
	over.Store(true)
	c.join()
}

package fabrictest

import (
	"encoding/binary"
	"runtime"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
)

const (
	ruleWords     = "An aligned 8-byte word is never torn by a WRITE or READ whose remote address is a multiple of 8, and such a READ looks at its words in address order."
	ruleOneSided  = "READ, WRITE and atomics make progress though the target's program neither posts nor polls."
	wordArea      = 4096
	repeatedBytes = 0x0101010101010101
)

func wordCases() []*testCase {
	return join(
		each("G5/write-against-read", ruleWords, wordsWriteRead, fabric.RC),
		each("G5/write-against-cpu", ruleWords, wordsWriteCPU, fabric.RC, fabric.UC),
		each("G5/cpu-against-read", ruleWords, wordsReadCPU, fabric.RC),
		each("G5/read-order", ruleWords, readOrder, fabric.RC),
		each("G18/one-sided", ruleOneSided, oneSided, fabric.RC),
		each("G18/one-sided-reverse", ruleOneSided, oneSidedReverse, fabric.RC),
	)
}

// wordLengths are those of the WRITEs and READs. Their remote places are aligned
// to 8, the local ones at any alignment.
var wordLengths = []int{8, 16, 24, 56, 64, 72, 120, 128, 256, 1000, 1024, 2048, 4000, 4096}

// equalBytes fills b with the byte v.
func equalBytes(b []byte, v byte) {
	for i := range b {
		b[i] = v
	}
}

// torn returns the offset of an aligned word in b whose bytes are not all
// equal, or -1. b begins at offset off of an aligned area.
func torn(b []byte, off int) int {
	for i := -off & 7; i+8 <= len(b); i += 8 {
		w := binary.NativeEndian.Uint64(b[i:])
		if w != (w&0xff)*repeatedBytes {
			return i
		}
	}
	return -1
}

// wordsWriteRead has one queue pair write and another read the same words.
func wordsWriteRead(t *trial, tr fabric.Transport) {
	p := t.pair(pairConfig{tr: tr, size: 4 * wordArea})
	q := t.pair(pairConfig{tr: tr, size: 4 * wordArea})
	area := p.a.mem.Remote().At(wordArea)
	p.a.mem.put(wordArea, make([]byte, wordArea))
	var done atomic.Bool
	c := t.crew()
	c.run(func() { // the reader owns q.b
		rng := t.random(1)
		for !done.Load() {
			n := wordLengths[rng.IntN(len(wordLengths))]
			off, local := rng.IntN(wordArea-n+1)&^7, rng.IntN(8)
			q.b.post(q.b.readFrom(area.At(off), local, n))
			t.await("a READ", func() bool { return len(q.b.sent) > 0 }, q.b.owner)
			q.b.takeSent(1)
			got := q.b.mem.Bytes()[local:][:n]
			if i := torn(got, 0); i >= 0 {
				t.Fatalf("READ of %d bytes at %d: torn word at %d: %x", n, off, off+i, got[i:i+8])
			}
		}
	})
	p.hammerWords(area, t.times(3000))
	done.Store(true)
	c.join()
}

// hammerWords writes equal bytes at random places of the area; only whole
// words, so that no word ever has two values.
func (p *pair) hammerWords(area fabric.Remote, count int) {
	t, rng := p.t, p.t.random(2)
	for g := range count {
		n := wordLengths[rng.IntN(len(wordLengths))]
		off := rng.IntN(wordArea-n+1) &^ 7
		// The local side may be at any alignment.
		src := g%2*2*wordArea + rng.IntN(8)
		equalBytes(p.b.mem.Bytes()[src:src+n], byte(g))
		w := p.b.writeTo(area.At(off), src, n)
		if n <= p.b.dev.Limits().MaxInline && rng.IntN(2) == 0 {
			w = inline(w)
		}
		p.b.post(w)
		t.await("a WRITE", func() bool { return len(p.b.sent) > 0 }, p.b.owner)
		p.b.takeSent(1)
	}
}

// wordsWriteCPU has a queue pair write while the CPU of the target reads.
func wordsWriteCPU(t *trial, tr fabric.Transport) {
	p := t.pair(pairConfig{tr: tr, size: 4 * wordArea})
	p.a.mem.put(wordArea, make([]byte, wordArea))
	var done atomic.Bool
	c := t.crew()
	c.run(func() {
		rng := t.random(1)
		place := p.a.mem.Bytes()[wordArea : 2*wordArea]
		got := make([]byte, wordArea)
		for !done.Load() {
			t.check()
			n := wordLengths[rng.IntN(len(wordLengths))]
			off := rng.IntN(wordArea - n + 1)
			fence.CopyIn(got[:n], place[off:off+n])
			if i := torn(got[:n], off); i >= 0 {
				t.Fatalf("CPU sees a torn word at %d: %x", off+i, got[i:i+8])
			}
			runtime.Gosched()
		}
	})
	p.hammerWords(p.a.mem.Remote().At(wordArea), t.times(3000))
	done.Store(true)
	c.join()
}

// wordsReadCPU has the CPU of the target write while a queue pair reads.
func wordsReadCPU(t *trial, tr fabric.Transport) {
	p := t.pair(pairConfig{tr: tr, size: 4 * wordArea})
	p.a.mem.put(wordArea, make([]byte, wordArea))
	var done atomic.Bool
	c := t.crew()
	c.run(func() {
		rng := t.random(1)
		place := p.a.mem.Bytes()[wordArea : 2*wordArea]
		src := make([]byte, wordArea)
		for g := 0; !done.Load(); g++ {
			t.check()
			n := wordLengths[rng.IntN(len(wordLengths))]
			off := rng.IntN(wordArea-n+1) &^ 7
			equalBytes(src[:n], byte(g))
			fence.CopyOut(place[off:off+n], src[:n])
			runtime.Gosched()
		}
	})
	rng := t.random(2)
	for range t.times(3000) {
		n := wordLengths[rng.IntN(len(wordLengths))]
		off, local := rng.IntN(wordArea-n+1)&^7, rng.IntN(8)
		p.b.post(p.b.readFrom(p.a.mem.Remote().At(wordArea+off), local, n))
		t.await("a READ", func() bool { return len(p.b.sent) > 0 }, p.b.owner)
		p.b.takeSent(1)
		got := p.b.mem.Bytes()[local:][:n]
		if i := torn(got, 0); i >= 0 {
			t.Fatalf("READ of %d bytes at %d: torn word at %d: %x", n, off, off+i, got[i:i+8])
		}
	}
	done.Store(true)
	c.join()
}

// readOrder has the CPU of the target count up words from the last to the
// first. A READ that goes by address finds numbers that never decrease.
func readOrder(t *trial, tr fabric.Transport) {
	const words = 64
	p := t.pair(pairConfig{tr: tr, size: 4096})
	p.a.mem.put(0, make([]byte, words*8))
	var done atomic.Bool
	c := t.crew()
	c.run(func() {
		place := p.a.mem.Bytes()
		var b [8]byte
		for g := uint64(1); !done.Load(); g++ {
			t.check()
			binary.NativeEndian.PutUint64(b[:], g)
			for i := words - 1; i >= 0; i-- {
				fence.CopyOut(place[i*8:i*8+8], b[:])
			}
			runtime.Gosched()
		}
	})
	for range t.times(4000) {
		p.b.post(p.b.readFrom(p.a.mem.Remote(), 0, words*8))
		t.await("a READ", func() bool { return len(p.b.sent) > 0 }, p.b.owner)
		p.b.takeSent(1)
		last := uint64(0)
		for i := range words {
			v := binary.NativeEndian.Uint64(p.b.mem.Bytes()[i*8:])
			if v < last {
				t.Fatalf("word %d is %d, older than the word before it, %d", i, v, last)
			}
			last = v
		}
	}
	done.Store(true)
	c.join()
}

// oneSided has the acceptor do nothing at all.
func oneSided(t *trial, tr fabric.Transport) {
	p := t.pair(pairConfig{tr: tr})
	p.oneSidedOps(p.b, p.a)
}

// oneSidedReverse has the dialer do nothing at all.
func oneSidedReverse(t *trial, tr fabric.Transport) {
	p := t.pair(pairConfig{tr: tr})
	p.oneSidedOps(p.a, p.b)
}

// oneSidedOps does one-sided operations at e; the owner of target is blocked
// on a channel, and nobody polls for it.
func (p *pair) oneSidedOps(e, target *end) {
	t := p.t
	release := make(chan struct{})
	c := t.crew()
	c.run(func() {
		<-release
		target.poll()
	})
	wait := func() {
		t.await("a one-sided operation", func() bool { return len(e.sent) > 0 }, e.owner)
		e.takeSent(1)
	}
	defer c.join()
	defer close(release)
	sum := uint64(0)
	target.mem.putWord(0, 0)
	for range t.times(200) {
		pat := p.next()
		e.mem.write(64, pat, 1000)
		e.post(e.writeTo(target.mem.Remote().At(64), 64, 1000))
		wait()
		e.post(e.readFrom(target.mem.Remote().At(64), 2048, 1000))
		wait()
		e.mem.expect(2048, pat, 1000)
		if e.dev.Limits().Atomics {
			e.post(e.fetchAdd(target.mem.Remote(), 0, 3))
			wait()
			e.mem.expectWord(0, sum)
			sum += 3
			e.post(e.cmpSwap(target.mem.Remote(), 8, sum, sum+1))
			wait()
			e.mem.expectWord(8, sum)
			sum++
		}
		target.mem.expect(64, pat, 1000)
		target.mem.expectWord(0, sum)
		e.mem.verify("the initiator")
		target.mem.verify("the idle target")
	}
}

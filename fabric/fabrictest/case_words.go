package fabrictest

import (
	"encoding/binary"
	"runtime"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
)

const (
	ruleWords = "An aligned 8-byte word is never torn by a WRITE or READ whose remote address is a multiple of 8."
	ruleLooks = "A READ looks at its words in any order, each at a time of its own between Post and completion; " +
		"where Limits.InOrder is set, in address order."
	ruleOneSided  = "READ, WRITE and atomics make progress though the target's program neither posts nor polls."
	wordArea      = 4096
	repeatedBytes = 0x0101010101010101
)

func wordCases() []*testCase {
	return join(
		each("G5/write-against-read", ruleWords, wordsWriteRead, fabric.RC),
		each("G5/read-order", ruleLooks, readOrder, fabric.RC),
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

// readOrder has the CPU of the target count up words from the last to the
// first. A READ that goes by address finds numbers that never decrease.
func readOrder(t *trial, tr fabric.Transport) {
	t.needOrder()
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

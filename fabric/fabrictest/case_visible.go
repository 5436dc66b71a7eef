package fabrictest

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
)

const (
	rulePlace = "Where Limits.InOrder is set, WRITEs become visible one by one and in address order, the last byte last: " +
		"a reader that sees the last byte sees all of it."
	ruleVisible = "What one queue pair wrote is visible at the target before a later SEND or WRITE_IMM of that queue pair completes " +
		"a receive there, and before the initiator's own completion on RC."
)

func visibilityCases() []*testCase {
	return join(
		each("G2/address-order", rulePlace, addressOrder, fabric.RC),
		each("G2/pipelined", rulePlace, pipelined, fabric.RC),
		each("G3/completion", ruleVisible, completionMeansVisible, fabric.RC),
	)
}

// generation is the byte that fills generation g: never 0, and neighbours
// differ.
func generation(g int) byte { return byte(1 + g%251) }

// addressOrder watches two bytes of a large WRITE: when the later one is visible,
// so is the earlier one.
func addressOrder(t *trial, tr fabric.Transport) {
	t.needOrder()
	const size, lead = 4096, 100
	p := t.pair(pairConfig{tr: tr, size: 16 << 10})
	var done atomic.Bool
	var written, watched atomic.Uint64 // generations; the watcher is at most lead behind
	c := t.crew()
	place := p.a.mem.Bytes()[1024 : 1024+size]
	fill := func(g int) []byte {
		b := make([]byte, size)
		for i := range b {
			b[i] = byte(g)
		}
		return b
	}
	p.a.mem.put(1024, fill(0))
	c.run(func() {
		rng := t.random(1)
		for !done.Load() {
			t.check()
			watched.Store(written.Load())
			j := rng.IntN(size)
			i := rng.IntN(j + 1)
			later := fence.ObserveByte(&place[j])
			earlier := fence.ObserveByte(&place[i])
			// Generations are never more than lead apart: compare as on a clock.
			if int8(earlier-later) < 0 {
				t.Fatalf("byte %d was of generation %d (mod 256) when byte %d already was of %d", i, earlier, j, later)
			}
			runtime.Gosched()
		}
	})
	for g := 1; g <= t.times(4000); g++ {
		src := g % 2 * size
		p.b.mem.put(src, fill(g))
		t.await("the watcher", func() bool { return written.Load()-watched.Load() < lead }, p.b.owner)
		written.Store(uint64(g))
		p.do(p.b, p.b.writeTo(p.a.mem.Remote().At(1024), src, size))
	}
	done.Store(true)
	c.join()
}

// pipelined writes to many slots without waiting; a slot whose last byte is
// there is whole, and so is every slot before it (G1).
func pipelined(t *trial, tr fabric.Transport) {
	t.needOrder()
	const slots, size = 32, 200
	p := t.pair(pairConfig{tr: tr, sendDepth: slots, size: 16 << 10})
	var round, checked atomic.Uint64
	c := t.crew()
	rounds := t.times(200)
	at := func(slot int) []byte { return p.a.mem.Bytes()[slot*size : (slot+1)*size] }
	p.a.mem.put(0, make([]byte, slots*size))
	c.run(func() {
		got := make([]byte, size)
		rng := t.random(1)
		for g := 1; g <= rounds; g++ {
			for round.Load() < uint64(g) {
				t.check()
				runtime.Gosched()
			}
			for high := 0; high < slots-1; {
				t.check()
				high += rng.IntN(slots - high)
				if fence.ObserveByte(&at(high)[size-1]) != generation(g) {
					runtime.Gosched()
					continue
				}
				for slot := 0; slot <= high; slot++ {
					fence.CopyIn(got, at(slot))
					for i, v := range got {
						if v != generation(g) {
							t.Fatalf("round %d: slot %d is there, and byte %d of slot %d is not", g, high, i, slot)
						}
					}
				}
			}
			checked.Store(uint64(g))
		}
	})
	for g := 1; g <= rounds; g++ {
		buf := make([]byte, size)
		for i := range buf {
			buf[i] = generation(g)
		}
		p.b.mem.put(0, buf)
		round.Store(uint64(g))
		for slot := range slots {
			w := p.b.writeTo(p.a.mem.Remote().At(slot*size), 0, size)
			if slot < slots-1 {
				w = unsignaled(w)
			}
			p.b.post(w)
		}
		t.await("the last WRITE", func() bool { return len(p.b.sent) > 0 }, p.b.owner)
		p.b.takeSent(1)
		t.await("the checker", func() bool { return checked.Load() == uint64(g) }, p.b.owner)
	}
	c.join()
}

// completionMeansVisible reads the target plainly after the initiator's
// completion, in another goroutine.
func completionMeansVisible(t *trial, tr fabric.Transport) {
	p := t.pair(pairConfig{tr: tr, size: 128 << 10})
	tell, told := make(chan pattern), make(chan bool)
	sizes := []int{1, 8, 63, 4096, 50000}
	c := t.crew()
	rounds := t.times(200)
	c.run(func() {
		defer close(told)
		for pat := range tell {
			size := sizes[int(pat)%len(sizes)]
			got := append([]byte(nil), p.a.mem.Bytes()[5:5+size]...)
			want := pat.bytes(0, size)
			if i := firstDifference(got, want); i >= 0 {
				t.Fatalf("a WRITE of %d bytes completed and is not there: %s", size, explain(got, want, i))
			}
			told <- true
		}
	})
	for range rounds {
		pat := p.next()
		size := sizes[int(pat)%len(sizes)]
		p.b.mem.write(9, pat, size)
		p.b.post(p.b.writeTo(p.a.mem.Remote().At(5), 9, size))
		t.await("the completion", func() bool { return len(p.b.sent) > 0 }, p.b.owner)
		p.b.takeSent(1)
		tell <- pat
		if !<-told {
			break
		}
	}
	close(tell)
	c.join()
}

func peerOrderCases() []*testCase {
	return join(
		peers("G2/last-byte-last", rulePlace, lastByteLast, fabric.RC, fabric.UC),
		peers("G3/write-then-send", ruleVisible, writeThen(fabric.OpSend), fabric.RC, fabric.UC),
		peers("G3/write-then-write-imm", ruleVisible, writeThen(fabric.OpWriteImm), fabric.RC, fabric.UC),
	)
}

// The slots that lastByteLast writes to, chain by chain: the first may all be
// there before the other side looks.
const (
	hammerSlots  = 48
	hammerChain  = 6
	hammerStride = 4096 + 64
)

var hammerSizes = []int{
	1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 255, 256, 500, 511, 512,
	513, 1000, 1023, 1024, 1500, 2047, 2048, 3000, 4000, 4088, 4095, 4096,
}

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

// lastByteLast writes batches of self-describing values; the CPU of the target
// watches the last byte of one of them and, when it is there, looks at all of
// it and of those before.
func lastByteLast(p *peer, tr fabric.Transport) {
	p.needOrder()
	l := p.connect(pairConfig{tr: tr, size: hammerSlots * hammerStride})
	batches := p.times(40)
	p.turns(func() {
		p.meet("zeroes", l.owner)
		for batch := range batches {
			var wrs []fabric.WR
			for k := range hammerSlots {
				at, n, g := hammerPlace(batch, k)
				l.mem.put(at, hammerValue(g, n))
				w := unsignaled(l.writeTo(l.remote.At(at), at, n))
				if g%3 == 0 && n <= l.dev.Limits().MaxInline {
					w = inline(w)
				}
				wrs = append(wrs, w)
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
func (l *conn) watchBatch(batch int) int {
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

// The slots that writeThen writes to. They begin at odd places, and no two of them share a
// word: a provider that writes a part of a word may touch all of it.
const (
	writtenSlots  = 8
	writtenStride = 20001 + 16
	writtenBase   = 32 << 10
)

// writeThen writes and sends a message behind it that carries the number of
// the WRITE: when the message is there, so is what was written before. On UC a
// message may be dropped and is sent again when the receiver does not answer; if
// it was only slow, it receives the message twice.
func writeThen(op fabric.Op) func(p *peer, tr fabric.Transport) {
	return func(p *peer, tr fabric.Transport) {
		const src = 2048
		sizes := []int{1, 8, 64, 1000, 4096, 20000}
		l := p.connect(pairConfig{tr: tr, size: writtenBase + writtenSlots*writtenStride})
		rounds := p.times(300)
		p.turns(func() {
			p.meet("a receive", l.owner)
			for i := range rounds {
				size := sizes[i%len(sizes)]
				l.mem.write(src, pattern(i+1), size)
				l.mem.putWord(0, uint64(i))
				l.post(unsignaled(l.writeTo(l.remote.At(writtenBase+i%writtenSlots*writtenStride), src, size)))
				p.insist("the message", tr, func() {
					w := l.sendFrom(0, 8)
					if op == fabric.OpWriteImm {
						w = l.writeImmTo(l.remote, 0, 8, uint32(i))
					}
					l.do(w)
				}, p.heard(), l.owner)
			}
		}, func() {
			l.postRecv(l.recvAt(64, 64))
			p.meet("a receive", l.owner)
			for i := 0; i < rounds; {
				c := l.got(1)[0]
				n := l.mem.word(64)
				if c.HasImm {
					n = uint64(c.Imm)
				}
				l.postRecv(l.recvAt(64, 64))
				if n < uint64(i) && tr != fabric.RC {
					continue // sent again: it says nothing of WRITE i
				}
				if n != uint64(i) {
					p.Fatalf("message %d, want %d", n, i)
				}
				l.checkWritten(i, writtenBase+i%writtenSlots*writtenStride, sizes[i%len(sizes)])
				i++
				p.say(i)
			}
			// The other side may have to send the last one again no more.
			l.takeReceived(len(l.received))
		})
	}
}

// heard returns a condition that holds once the other side has said something.
func (p *peer) heard() func() bool {
	heard := false
	return func() bool {
		if !heard {
			select {
			case <-p.box.said:
				heard = true
			default:
			}
		}
		return heard
	}
}

// checkWritten checks that WRITE i is there, now that the message behind it
// is. On UC it may have been dropped: then what was there before is unchanged.
func (l *conn) checkWritten(i, at, size int) {
	// Plainly: the completion has ordered it.
	got := bytes.Clone(l.mem.Bytes()[at : at+size])
	want := pattern(i+1).bytes(0, size)
	d := firstDifference(got, want)
	was := l.mem.want[at : at+size]
	dropped := l.cfg.Transport != fabric.RC && (bytes.Equal(got, was) || size > l.p.both.MTU && mixed(got, was, want))
	if d < 0 {
		l.mem.expectBytes(at, want)
	} else if dropped {
		l.mem.expectBytes(at, got)
	} else {
		l.p.Fatalf("message %d is there and the WRITE of %d bytes before is not: %s", i, size, explain(got, want, d))
	}
}

// mixed reports whether each byte of got is that of one of two others.
func mixed(got, a, b []byte) bool {
	for i := range got {
		if got[i] != a[i] && got[i] != b[i] {
			return false
		}
	}
	return true
}

func peerWordCases() []*testCase {
	return join(
		peers("G5/write-against-cpu", ruleWords, wordsWriteCPU, fabric.RC, fabric.UC),
		peers("G5/cpu-against-read", ruleWords, wordsReadCPU, fabric.RC),
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
func (l *conn) wordChains(one func(to fabric.Remote, place, n int) fabric.WR, done func(place, at, n int)) {
	l.t.Helper()
	rng := l.t.random(0)
	for range l.t.times(375) {
		var wrs []fabric.WR
		var at [wordChain]int
		for k := range wordChain {
			n := wordLengths[rng.IntN(len(wordLengths))]
			at[k] = rng.IntN(wordArea-n+1) &^ 7
			// The local side may be at any alignment.
			wrs = append(wrs, unsignaled(one(l.remote.At(at[k]), wordArea+k*wordPlace+rng.IntN(8), n)))
		}
		wrs[wordChain-1].Flags |= fabric.FlagSignaled
		l.do(wrs...)
		for k, w := range wrs {
			done(w.Local.Off, at[k], w.Local.Len)
		}
	}
}

// wordsWriteCPU writes words while the CPU of the target looks at them.
func wordsWriteCPU(p *peer, tr fabric.Transport) {
	l := p.connect(pairConfig{tr: tr, size: wordRoom})
	p.turns(func() {
		p.meet("zeroes", l.owner)
		g := 0
		l.wordChains(func(to fabric.Remote, place, n int) fabric.WR {
			g++
			equalBytes(l.mem.Bytes()[place:place+n], byte(g))
			w := l.writeTo(to, place, n)
			if n <= l.dev.Limits().MaxInline && g%2 == 0 {
				w = inline(w)
			}
			return w
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

// wordsReadCPU reads words while the CPU of the target changes them.
func wordsReadCPU(p *peer, tr fabric.Transport) {
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
func (p *peer) beside(again func(i int), do func()) {
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

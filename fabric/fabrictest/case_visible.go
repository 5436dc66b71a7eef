package fabrictest

import (
	"bytes"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
)

const (
	rulePlace   = "A WRITE becomes visible at the target in address order, its last byte last: who sees the last byte sees all of it."
	ruleVisible = "What one queue pair wrote is visible at the target before a later SEND or WRITE_IMM of that queue pair completes " +
		"a receive there, and before the initiator's own completion on RC."
)

func visibilityCases() []*testCase {
	return join(
		each("G2/last-byte-last", rulePlace, lastByteLast, fabric.RC, fabric.UC),
		each("G2/address-order", rulePlace, addressOrder, fabric.RC),
		each("G2/pipelined", rulePlace, pipelined, fabric.RC),
		each("G3/write-then-send", ruleVisible, writeThenSend, fabric.RC, fabric.UC),
		each("G3/write-then-write-imm", ruleVisible, writeThenImm, fabric.RC, fabric.UC),
		each("G3/completion", ruleVisible, completionMeansVisible, fabric.RC),
	)
}

// lastByteLast writes generation after generation to one place, while another
// goroutine watches the last byte there and, when it changes, looks at all.
func lastByteLast(t *trial, tr fabric.Transport) {
	p := t.pair(pairConfig{tr: tr, size: 16 << 10})
	sizes := []int{
		1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 255, 256, 500, 511, 512,
		513, 1000, 1023, 1024, 1500, 2047, 2048, 3000, 4000, 4088, 4095, 4096,
	}
	per := t.times(120)
	for k, size := range sizes {
		at := 64 + k%8 // every alignment
		if k%3 == 0 {
			at = 64
		}
		p.generations(size, at, per)
	}
	p.b.mem.verify("the initiator")
}

// generations writes size bytes to at, count times, with a checker beside.
func (p *pair) generations(size, at, count int) {
	t := p.t
	var seen atomic.Uint64 // generations that the checker has looked at
	c := t.crew()
	place := p.a.mem.Bytes()[at : at+size]
	p.a.mem.put(at, make([]byte, size))
	c.run(func() {
		got := make([]byte, size)
		last := byte(0)
		for g := 1; g <= count; g++ {
			want := generation(g)
			for spins := 0; fence.ObserveByte(&place[size-1]) == last; spins++ {
				t.check()
				if spins%16 == 15 {
					runtime.Gosched()
				}
			}
			fence.CopyIn(got, place)
			for i, v := range got {
				if v != want {
					t.Fatalf("WRITE of %d bytes to %d, generation %d: byte %d is %#x, and yet the last byte is %#x",
						size, at, g, i, v, got[size-1])
				}
			}
			last = want
			seen.Store(uint64(g))
		}
	})
	for g := 1; g <= count; g++ {
		src := 32 + g%2*(size+9) // the other of two buffers
		buf := make([]byte, size)
		for i := range buf {
			buf[i] = generation(g)
		}
		p.b.mem.put(src, buf)
		t.insist(fmt.Sprintf("WRITE of %d bytes", size), p.a.cfg.Transport, func() {
			w := p.b.writeTo(p.a.mem.Remote().At(at), src, size)
			if g%3 == 0 && size <= p.b.dev.Limits().MaxInline {
				w = inline(w)
			}
			p.do(p.b, w)
		}, func() bool { return seen.Load() >= uint64(g) }, p.b.owner)
	}
	c.join()
}

// generation is the byte that fills generation g: never 0, and neighbours
// differ.
func generation(g int) byte { return byte(1 + g%251) }

// addressOrder watches two bytes of a large WRITE: who sees the later one sees
// the earlier one as well.
func addressOrder(t *trial, tr fabric.Transport) {
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

// writeThenSend has the receiver in a goroutine of its own: when the message
// is there, so is what was written before.
func writeThenSend(t *trial, tr fabric.Transport) {
	writeThen(t, tr, func(p *pair, i int) fabric.WR {
		p.b.mem.putWord(0, uint64(i))
		return p.b.sendFrom(0, 8)
	})
}

func writeThenImm(t *trial, tr fabric.Transport) {
	writeThen(t, tr, func(p *pair, i int) fabric.WR { return p.b.writeImmTo(p.a.mem.Remote().At(0), 0, 8, uint32(i)) })
}

// writeThen writes and rings a bell behind it that carries the number of the
// WRITE. On UC a bell may be dropped and is rung again when the receiver does
// not answer; if it was only slow, it hears the bell twice.
func writeThen(t *trial, tr fabric.Transport, bell func(p *pair, i int) fabric.WR) {
	const slots, base, src = 8, 4096, 2048
	p := t.pair(pairConfig{tr: tr, size: 512 << 10})
	sizes := []int{1, 8, 64, 1000, 4096, 20000}
	total := t.times(600)
	var checked atomic.Uint64
	c := t.crew()
	stride := 20001
	p.a.postRecv(p.a.recvAt(64, 64))
	c.run(func() { // the receiver owns a
		for i := 0; i < total; {
			t.await("the bell", func() bool { return len(p.a.received) > 0 }, p.a.owner)
			comp := p.a.takeReceived(1)[0]
			n := p.a.mem.word(64)
			if comp.HasImm {
				n = uint64(comp.Imm)
			}
			p.a.postRecv(p.a.recvAt(64, 64))
			if n < uint64(i) && tr != fabric.RC {
				continue // rung again: it says nothing of WRITE i
			}
			if n != uint64(i) {
				t.Fatalf("bell %d, want %d", n, i)
			}
			p.checkWritten(i, base+i%slots*stride, sizes[i%len(sizes)])
			i++
			checked.Store(uint64(i))
		}
	})
	for i := range total {
		size := sizes[i%len(sizes)]
		p.b.mem.write(src, pattern(i+1), size)
		p.b.post(unsignaled(p.b.writeTo(p.a.mem.Remote().At(base+i%slots*stride), src, size)))
		t.insist("bell", tr, func() {
			p.b.post(bell(p, i))
			t.await("the completion", func() bool { return len(p.b.sent) > 0 }, p.b.owner)
			p.b.takeSent(1)
		}, func() bool { return checked.Load() == uint64(i+1) }, p.b.owner)
	}
	c.join()
}

// checkWritten checks that WRITE i is there, now that the message behind it
// is. On UC it may have been dropped: then what was there before is unchanged.
func (p *pair) checkWritten(i, at, size int) {
	m := p.a.mem
	// Plainly: the completion has ordered it.
	got := bytes.Clone(m.Bytes()[at : at+size])
	want := pattern(i+1).bytes(0, size)
	d := firstDifference(got, want)
	if d < 0 {
		m.expectBytes(at, want)
	} else if p.a.cfg.Transport == fabric.RC || !bytes.Equal(got, m.want[at:at+size]) {
		p.t.Fatalf("message %d is there and the WRITE of %d bytes before is not: %s", i, size, explain(got, want, d))
	}
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

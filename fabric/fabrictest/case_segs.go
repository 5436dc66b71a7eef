package fabrictest

import (
	"fmt"
	"math/rand/v2"

	"github.com/remora-kv/remora/fabric"
)

const (
	ruleMore  = "More are further segments, gathered or scattered after Local; at most Limits.MaxSegs in all."
	ruleRange = "an address range that is not wholly inside the region, touches no byte."
)

func segmentCases() []*testCase {
	return join(
		each("segments/short-message", "More are further segments, filled after Local.", segmentsShort,
			fabric.RC, fabric.UC, fabric.UD),
		each("G7/edges", ruleRange, regionEdges, fabric.RC),
	)
}

// cut divides n bytes into at most most segments at random places of a region,
// in order and apart from each other, some of them empty.
func cut(rng *rand.Rand, m *mem, n, most int) []fabric.Seg {
	parts := 1 + rng.IntN(most)
	slack := m.Len() - n
	off := 0
	var segs []fabric.Seg
	for i := range parts {
		gap := rng.IntN(slack/parts + 1)
		off += gap
		size := n
		if i < parts-1 {
			size = rng.IntN(n + 1)
			if rng.IntN(4) == 0 {
				size = 0
			}
		}
		segs = append(segs, m.Seg(off, size))
		off += size
		n -= size
	}
	return segs
}

// scatter writes b into the segments, as far as it goes, in expectation.
func (m *mem) scatter(segs []fabric.Seg, b []byte) {
	for _, s := range segs {
		n := min(s.Len, len(b))
		m.expectBytes(s.Off, b[:n])
		b = b[n:]
	}
}

// gather fills the segments with a message.
func (m *mem) gather(segs []fabric.Seg, b []byte) {
	for _, s := range segs {
		m.put(s.Off, b[:s.Len])
		b = b[s.Len:]
	}
}

// headerIn reads the header of a datagram out of the segments of a receive.
func (p *pair) headerIn(segs []fabric.Seg) []byte {
	var b []byte
	for _, s := range segs {
		b = append(b, snapshot(s.Bytes())...)
	}
	return b[:p.a.head():p.a.head()]
}

// segmentsShort receives messages shorter than the receive: only the first
// bytes of the segments change.
func segmentsShort(t *trial, tr fabric.Transport) {
	p := t.pair(pairConfig{tr: tr, size: 8 << 10})
	rng := t.random(0)
	most := p.a.dev.Limits().MaxSegs
	for i := range t.times(100) {
		room := rng.IntN(t.mtu())
		n, pat := rng.IntN(room+1), p.next()
		into := cut(rng, p.a.mem, room+p.a.head(), most)
		p.a.postRecv(fabric.RecvWR{ID: p.a.id(), Local: into[0], More: into[1:]})
		p.b.mem.write(0, pat, n)
		p.do(p.b, p.b.sendFrom(0, n))
		arrived := func() bool { return len(p.a.received) > 0 }
		if tr == fabric.RC {
			p.await("a message", arrived)
		} else if !t.settle(arrived, p.a.owner, p.b.owner) {
			p = t.pair(pairConfig{tr: tr, size: 8 << 10})
			continue
		}
		if c := p.a.takeReceived(1)[0]; int(c.Bytes) != p.a.head()+n {
			t.Fatalf("message %d of %d bytes completed as %+v", i, n, c)
		}
		p.a.mem.scatter(into, append(p.headerIn(into), pat.bytes(0, n)...))
		p.a.mem.verify(fmt.Sprintf("message %d of %d bytes in a receive for %d", i, n, room))
	}
}

// regionEdges does operations that end exactly where a region ends.
func regionEdges(t *trial, tr fabric.Transport) {
	p := t.pair(pairConfig{tr: tr})
	for _, size := range []int{1, 7, 8, 9, 64, 4095, 4096, 4097, 10000} {
		target, local := t.mem(p.a.dom, size, everything), t.mem(p.b.dom, size, 0)
		e := &end{owner: p.b.owner, qp: p.b.qp, mem: local, lastID: p.b.lastID}
		for _, span := range [][2]int{{0, size}, {0, 1}, {size - 1, 1}, {size / 2, size - size/2}, {0, (size + 1) / 2}} {
			off, n := span[0], span[1]
			what := fmt.Sprintf("[%d, %d) of %d bytes", off, off+n, size)
			pat := p.next()
			local.write(off, pat, n)
			p.do(p.b, e.writeTo(target.Remote().At(off), off, n))
			target.expect(off, pat, n)
			target.verify("WRITE to " + what)
			pat = p.next()
			target.write(off, pat, n)
			p.do(p.b, e.readFrom(target.Remote().At(off), off, n))
			local.expect(off, pat, n)
			local.verify("READ from " + what)
		}
		if size%8 == 0 && p.b.dev.Limits().Atomics {
			target.putWord(size-8, 41)
			local.expectWord(0, 41)
			target.expectWord(size-8, 42)
			p.do(p.b, e.fetchAdd(target.Remote().At(size-8), 0, 1))
			target.verify("FETCH_ADD on the last word")
			local.verify("FETCH_ADD on the last word")
		}
		p.b.lastID = e.lastID
	}
	p.a.mem.verify("the region beside them")
}

func peerSegmentCases() []*testCase {
	return join(
		peers("segments/send", ruleMore, segmentsSend, fabric.RC, fabric.UC, fabric.UD),
		peers("segments/write", ruleMore, segmentsWrite, fabric.RC, fabric.UC),
		peers("segments/read", ruleMore, segmentsRead, fabric.RC),
		peers("G1/long-chains", ruleOrder, longChains, fabric.RC),
	)
}

// segmentsSend gathers messages here and scatters them there, cut at other
// places.
func segmentsSend(p *peer, tr fabric.Transport) {
	l := p.connect(pairConfig{tr: tr, size: 16 << 10})
	limit := 5000
	if tr == fabric.UD {
		limit = p.both.MTU
	}
	rounds := p.times(150)
	p.turns(func() {
		rng := p.random(0)
		for i := range rounds {
			n := rng.IntN(limit)
			from := cut(rng, l.mem, n, p.both.MaxSegs)
			l.mem.gather(from, pattern(i+1).bytes(0, n))
			p.meet("ready", l.owner)
			for try := 0; ; try++ {
				w := l.sendFrom(0, 0)
				w.Local, w.More = from[0], from[1:]
				if n <= p.both.MaxInline && i%2 == 0 {
					w = inline(w)
				}
				p.wantDone(l.do(w)[0], w)
				p.say(n)
				var arrived bool
				if p.hear(&arrived, l.owner); arrived {
					break
				}
				if try == attempts(tr) {
					p.Fatalf("message %d never arrived", i)
				}
			}
			l.mem.verify(fmt.Sprintf("message %d at the sender", i))
		}
	}, func() {
		rng := p.random(1)
		for i := range rounds {
			into := cut(rng, l.mem, limit+l.head(), p.both.MaxSegs)
			r := fabric.RecvWR{ID: l.id(), Local: into[0], More: into[1:]}
			l.postRecv(r)
			p.meet("ready", l.owner)
			l.takeScattered(i, r, into)
		}
	})
}

// takeScattered waits until message i is in its segments.
func (l *conn) takeScattered(i int, r fabric.RecvWR, into []fabric.Seg) {
	p, tr := l.p, l.cfg.Transport
	p.Helper()
	for range attempts(tr) + 1 {
		var n int
		p.hear(&n, l.owner)
		arrived := p.arrives("a message", tr, func() bool { return len(l.received) > 0 }, l.owner)
		if arrived {
			if c := l.takeReceived(1)[0]; c.ID != r.ID || int(c.Bytes) != l.head()+n {
				p.Fatalf("message %d of %d bytes completed as %+v", i, n, c)
			}
			var got []byte
			for _, s := range into {
				got = append(got, snapshot(s.Bytes())...)
			}
			l.mem.scatter(into, append(got[:l.head():l.head()], pattern(i+1).bytes(0, n)...))
			l.mem.verify(fmt.Sprintf("message %d of %d bytes at the receiver", i, n))
		}
		if p.say(arrived); arrived {
			return
		}
	}
	p.Fatalf("message %d never arrived", i)
}

// segmentsWrite gathers what it writes.
func segmentsWrite(p *peer, tr fabric.Transport) {
	l := p.connect(pairConfig{tr: tr, size: 16 << 10})
	type written struct{ At, Size int }
	rounds := p.times(150)
	p.turns(func() {
		rng := p.random(0)
		for i := range rounds {
			n := rng.IntN(5000)
			x := written{At: rng.IntN(l.mem.Len() - n), Size: n}
			from := cut(rng, l.mem, n, p.both.MaxSegs)
			l.mem.gather(from, pattern(i+1).bytes(0, n))
			for try, arrived := 0, false; !arrived; try++ {
				if try > attempts(tr) {
					p.Fatalf("WRITE %d never arrived", i)
				}
				w := l.writeTo(l.remote.At(x.At), 0, 0)
				w.Local, w.More = from[0], from[1:]
				if n <= p.both.MaxInline && i%2 == 0 {
					w = inline(w)
				}
				p.wantDone(l.do(w)[0], w)
				p.say(x)
				p.hear(&arrived, l.owner)
			}
			l.mem.verify("the initiator")
		}
	}, func() {
		for i := range rounds {
			for arrived := false; !arrived; {
				var x written
				p.hear(&x)
				arrived = tr == fabric.RC ||
					p.within(settleTime, func() bool { return l.mem.holds(x.At, pattern(i+1), x.Size) }, l.owner)
				if arrived {
					l.mem.expect(x.At, pattern(i+1), x.Size)
					l.mem.verify(fmt.Sprintf("WRITE %d of %d bytes to %d", i, x.Size, x.At))
				}
				p.say(arrived)
			}
		}
	})
}

// segmentsRead scatters what it reads.
func segmentsRead(p *peer, tr fabric.Transport) {
	l := p.connect(pairConfig{tr: tr, size: 16 << 10})
	p.turns(func() {
		rng := p.random(0)
		p.meet("filled", l.owner)
		for i := range p.times(150) {
			n := rng.IntN(5000)
			at := rng.IntN(l.mem.Len() - n)
			into := cut(rng, l.mem, n, p.both.MaxSegs)
			w := l.readFrom(l.remote.At(at), 0, 0)
			w.Local, w.More = into[0], into[1:]
			p.wantDone(l.do(w)[0], w)
			l.mem.scatter(into, pattern(99).bytes(0, l.mem.Len())[at:at+n])
			l.mem.verify(fmt.Sprintf("READ %d of %d bytes at %d", i, n, at))
		}
		p.meet("read", l.owner)
	}, func() {
		l.mem.write(0, pattern(99), l.mem.Len())
		p.meet("filled", l.owner)
		p.meet("read", l.owner)
		l.mem.verify("the target of READs")
	})
}

// chainPart is one part of a chain: sizes and places that both sides compute.
type chainPart struct {
	k, size int
	pat     pattern
}

const (
	chainSlot   = 1024
	chainParts  = 8
	chainWrites = 0 * chainParts * chainSlot
	chainImms   = 1 * chainParts * chainSlot
	chainInbox  = 2 * chainParts * chainSlot // at the target; READs go there at the initiator
	chainWord   = 3 * chainParts * chainSlot
	chainRoom   = chainWord + chainSlot
)

// longChains posts all operations in one chain, few of them signaled.
func longChains(p *peer, tr fabric.Transport) {
	l := p.connect(pairConfig{tr: tr, size: chainRoom})
	rounds := p.times(12)
	list := func(round int) []chainPart {
		rng := p.random(round)
		var all []chainPart
		for k := range chainParts {
			all = append(all, chainPart{k: k, size: 1 + rng.IntN(chainSlot), pat: pattern(round*chainParts + k + 1)})
		}
		return all
	}
	p.turns(func() {
		for round := range rounds {
			p.meet("receives", l.owner)
			l.postChain(list(round), uint64(round))
			l.mem.verify(fmt.Sprintf("round %d at the initiator", round))
			p.meet("posted", l.owner)
		}
	}, func() {
		l.mem.putWord(chainWord, 0)
		for round := range rounds {
			l.takeChain(list(round), uint64(round))
		}
	})
}

// postChain posts a WRITE, a SEND, a READ of what was written, a WRITE_IMM and
// a FETCH_ADD for each part of the chain, at once.
func (l *conn) postChain(list []chainPart, round uint64) {
	p := l.p
	p.Helper()
	var wrs []fabric.WR
	for _, x := range list {
		at := x.k * chainSlot
		l.mem.write(chainWrites+at, x.pat, x.size)
		l.mem.expect(chainInbox+at, x.pat, x.size)
		wrs = append(wrs,
			unsignaled(l.writeTo(l.remote.At(chainWrites+at), chainWrites+at, x.size)),
			unsignaled(l.sendFrom(chainWrites+at, x.size)),
			l.readFrom(l.remote.At(chainWrites+at), chainInbox+at, x.size),
			unsignaled(l.writeImmTo(l.remote.At(chainImms+at), chainWrites+at, x.size, uint32(x.k))))
		if p.both.Atomics {
			wrs = append(wrs, unsignaled(l.fetchAdd(l.remote.At(chainWord), chainWord+8*x.k, 1)))
			l.mem.expectWord(chainWord+8*x.k, round*chainParts+uint64(x.k))
		}
	}
	wrs = append(wrs, l.fenceWR())
	l.post(wrs...)
	cs := l.done(len(list) + 1)
	for i := range list {
		p.wantDone(cs[i], wrs[i*(len(wrs)/len(list))+2])
	}
	p.wantDone(cs[len(list)], wrs[len(wrs)-1])
}

// takeChain receives what a chain sends and checks what it wrote.
func (l *conn) takeChain(list []chainPart, round uint64) {
	p := l.p
	p.Helper()
	var ids []uint64
	for _, x := range list {
		for range 2 { // a SEND and a WRITE_IMM
			r := l.recvAt(chainInbox+x.k*chainSlot, chainSlot)
			if len(ids)%2 == 1 {
				r.Local.Len = 0
			}
			ids = append(ids, r.ID)
			l.postRecv(r)
		}
	}
	p.meet("receives", l.owner)
	for i, c := range l.got(len(ids)) {
		x := list[i/2]
		if c.ID != ids[i] || int(c.Bytes) != x.size || c.HasImm != (i%2 == 1) || (c.HasImm && c.Imm != uint32(x.k)) {
			p.Fatalf("round %d: receive %d completed as %+v, of the messages of %d bytes", round, i, c, x.size)
		}
	}
	p.meet("posted", l.owner)
	for _, x := range list {
		for _, area := range []int{chainWrites, chainImms, chainInbox} {
			l.mem.expect(area+x.k*chainSlot, x.pat, x.size)
		}
	}
	if p.both.Atomics {
		l.mem.expectWord(chainWord, (round+1)*chainParts)
	}
	l.mem.verify(fmt.Sprintf("round %d at the target", round))
}

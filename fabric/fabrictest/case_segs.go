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
		each("segments/send", ruleMore, segmentsSend, fabric.RC, fabric.UC, fabric.UD),
		each("segments/write", ruleMore, segmentsWrite, fabric.RC, fabric.UC),
		each("segments/read", ruleMore, segmentsRead, fabric.RC),
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

func segmentsSend(t *trial, tr fabric.Transport) {
	p := t.pair(pairConfig{tr: tr, size: 32 << 10})
	rng := t.random(0)
	most := min(p.a.dev.Limits().MaxSegs, p.b.dev.Limits().MaxSegs)
	limit := 8000
	if tr == fabric.UD {
		limit = t.mtu()
	}
	lost := 0
	for i := range t.times(300) {
		what := fmt.Sprintf("message %d", i)
		n, pat := rng.IntN(limit), p.next()
		from := cut(rng, p.b.mem, n, most)
		into := cut(rng, p.a.mem, n+p.a.head(), most)
		p.b.mem.gather(from, pat.bytes(0, n))
		r := fabric.RecvWR{ID: p.a.id(), Local: into[0], More: into[1:]}
		p.a.postRecv(r)
		w := p.b.sendFrom(0, 0)
		w.Local, w.More = from[0], from[1:]
		if n <= p.b.dev.Limits().MaxInline && i%2 == 0 {
			w = inline(w)
		}
		t.wantDone(p.do(p.b, w)[0], w)
		arrived := func() bool { return len(p.a.received) > 0 }
		if tr == fabric.RC {
			p.await(what, arrived)
		} else if !t.settle(arrived, p.a.owner, p.b.owner) {
			// The receive stays and would take the next message.
			if lost++; lost > 100 {
				t.Fatalf("%d of %d messages were dropped", lost, i)
			}
			p = t.pair(pairConfig{tr: tr, size: 32 << 10})
			continue
		}
		if c := p.a.takeReceived(1)[0]; c.ID != r.ID || int(c.Bytes) != p.a.head()+n {
			t.Fatalf("%s of %d bytes completed as %+v", what, n, c)
		}
		p.a.mem.scatter(into, append(p.headerIn(into), pat.bytes(0, n)...))
		p.a.mem.verify(what)
		p.b.mem.verify(what + ", at the sender")
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

func segmentsWrite(t *trial, tr fabric.Transport) {
	p := t.pair(pairConfig{tr: tr, size: 32 << 10})
	rng := t.random(0)
	lost := 0
	for i := range t.times(300) {
		n, pat := 1+rng.IntN(8000), p.next()
		from := cut(rng, p.b.mem, n, p.b.dev.Limits().MaxSegs)
		at := rng.IntN(p.a.mem.Len() - n + 1)
		p.b.mem.gather(from, pat.bytes(0, n))
		w := p.b.writeTo(p.a.mem.Remote().At(at), 0, 0)
		w.Local, w.More = from[0], from[1:]
		if n <= p.b.dev.Limits().MaxInline && i%2 == 0 {
			w = inline(w)
		}
		t.wantDone(p.do(p.b, w)[0], w)
		if tr != fabric.RC && !t.settle(func() bool { return p.a.mem.holds(at, pat, n) }, p.a.owner, p.b.owner) {
			if lost++; lost > 100 {
				t.Fatalf("%d of %d messages were dropped", lost, i)
			}
			continue
		}
		p.a.mem.expect(at, pat, n)
		p.a.mem.verify(fmt.Sprintf("WRITE %d of %d bytes to %d from %d segments", i, n, at, len(from)))
		p.b.mem.verify("the initiator")
	}
}

func segmentsRead(t *trial, tr fabric.Transport) {
	p := t.pair(pairConfig{tr: tr, size: 32 << 10})
	rng := t.random(0)
	for i := range t.times(300) {
		n, pat := 1+rng.IntN(8000), p.next()
		into := cut(rng, p.b.mem, n, p.b.dev.Limits().MaxSegs)
		at := rng.IntN(p.a.mem.Len() - n + 1)
		p.a.mem.write(at, pat, n)
		w := p.b.readFrom(p.a.mem.Remote().At(at), 0, 0)
		w.Local, w.More = into[0], into[1:]
		t.wantDone(p.do(p.b, w)[0], w)
		p.b.mem.scatter(into, pat.bytes(0, n))
		p.b.mem.verify(fmt.Sprintf("READ %d of %d bytes from %d into %d segments", i, n, at, len(into)))
		p.a.mem.verify("the target")
	}
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

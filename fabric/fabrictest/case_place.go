package fabrictest

import (
	"bytes"

	"github.com/remora-kv/remora/fabric"
)

const (
	rulePlacer  = "Place does what a WRITE does, under the same rights, and is counted like one."
	ruleNoPlace = "It returns false and writes nothing if only a WRITE can do that: to memory that was not written or read before " +
		"or may not be written, on a queue pair that is not ready or has requests that were not executed yet."
)

// placeCases are of providers whose queue pairs are Placers; of others they ask nothing.
func placeCases() []*testCase {
	return join(
		one("G21/same-as-write", rulePlacer, near(placeSame)),
		one("G21/rights", rulePlacer+" A Place that returns false neither breaks the queue pair nor completes, and has written nothing.", near(placeRights)),
		one("G21/counted", rulePlacer, near(placeCounted)),
		one("G21/behind-requests", rulePlacer, near(placeBehind)),
		one("G21/before-requests", rulePlacer, near(placeBefore)),
		one("G21/closed-region", ruleNoPlace, near(placeClosed)),
		one("G21/not-ready", ruleNoPlace, near(placeNotReady)),
		each("G21/transport", "Some queue pairs of type RC are Placers.", placeTransport, fabric.UC, fabric.UD),
	)
}

// fresh returns bytes that were not used before, in memory of the program's own.
func (p *pair) fresh(n int) []byte {
	p.b.mem.write(0, p.next(), n)
	return bytes.Clone(p.b.mem.want[:n])
}

// mustPlace writes to memory that can be written, and spoils the bytes that it wrote from.
func (p *pair) mustPlace(v fabric.Placer, far *mem, off, n int) {
	p.t.Helper()
	b := p.fresh(n)
	if !v.Place(far.Remote().At(off), b) {
		p.t.Fatalf("Place of %d bytes at %d says no", n, off)
	}
	far.expectBytes(off, b)
	clear(b)
}

func placeSame(p *pair, v fabric.Placer, far *mem) {
	for _, r := range [][2]int{{0, 4096}, {0, 1}, {4095, 1}, {7, 9}, {1000, 3000}} {
		p.mustPlace(v, far, r[0], r[1])
		far.verify("after Place")
	}
	p.do(p.b, p.b.readFrom(far.Remote(), 0, 4096))
	p.b.mem.expectBytes(0, far.want)
	p.b.mem.verify("after a READ of what was placed")
}

func placeRights(p *pair, v fabric.Placer, far *mem) {
	t := p.t
	closed := t.mem(p.a.dom, 4096, fabric.RemoteRead)
	foreign := t.mem(t.domain(t.world.A), 4096, everything)
	p.do(p.b, p.b.readFrom(closed.Remote(), 0, 64))
	p.b.mem.expectBytes(0, closed.want[:64])
	at, b := far.Remote(), p.fresh(4097)
	for what, r := range map[string]struct {
		to fabric.Remote
		n  int
	}{
		"what may not be written":   {closed.Remote(), 64},
		"a region of another owner": {foreign.Remote(), 64},
		"one byte too many":         {at, 4097},
		"the byte behind":           {at.At(4096), 1},
		"the byte before":           {fabric.Remote{Addr: at.Addr - 1, Key: at.Key}, 2},
		"the end of all addresses":  {fabric.Remote{Addr: ^uint64(0), Key: at.Key}, 64},
		"nothing":                   {at, 0},
		"no key":                    {fabric.Remote{Addr: at.Addr}, 64},
		"an unknown key":            {fabric.Remote{Addr: at.Addr, Key: ^at.Key}, 64},
	} {
		if v.Place(r.to, b[:r.n]) {
			t.Fatalf("Place has written %s", what)
		}
		far.verify(what)
		closed.verify(what)
		foreign.verify(what)
	}
	p.quiet()
	p.mustPlace(v, far, 0, 64)
	far.verify("after Place")
}

func placeCounted(p *pair, v fabric.Placer, far *mem) {
	was, there := p.b.qp.Counters(), p.a.qp.Counters()
	for n := range 5 {
		p.mustPlace(v, far, 0, 64-n)
	}
	_ = v.Place(far.Remote(), make([]byte, 5000))
	want, wantThere := tally{was}, tally{there}
	for n := range 5 {
		want.out(fabric.OpWrite, 64-n)
		wantThere.in(fabric.OpWrite, 64-n)
	}
	p.wantCounts("the end that places", &want, p.b.qp.Counters)
	p.wantCounts("the other end", &wantThere, p.a.qp.Counters)
}

// placeBehind places while a request that cannot be executed yet is before a WRITE to the same
// place: what was placed is there in the end (G4), or nothing was.
func placeBehind(p *pair, v fabric.Placer, far *mem) {
	p.b.mem.write(0, p.next(), 64)
	p.b.post(p.b.sendFrom(64, 64), p.b.writeTo(far.Remote(), 0, 64))
	far.expectBytes(0, p.b.mem.want[:64])
	late := bytes.Repeat([]byte{0xA5}, 32)
	if v.Place(far.Remote(), late) {
		far.expectBytes(0, late)
	}
	p.a.postRecv(p.a.recvAt(0, 64))
	p.sends(p.b, 2)
	far.verify("after the WRITE before Place")
}

// placeBefore places, and sends a message: the receiver of the message finds what was placed (G4).
func placeBefore(p *pair, v fabric.Placer, far *mem) {
	for range p.t.times(32) {
		p.a.postRecv(p.a.recvAt(4096, 64))
		p.mustPlace(v, far, 0, 4096)
		p.do(p.b, p.b.sendFrom(4096, 64))
		p.recvs(p.a, 1)
		far.verify("when the message behind it is there")
	}
}

// placeClosed closes a region, and makes others in its place.
func placeClosed(p *pair, v fabric.Placer, far *mem) {
	t := p.t
	for range t.times(16) {
		doomed := t.mem(p.a.dom, 4096, everything)
		p.b.mem.write(0, p.next(), 64)
		p.do(p.b, p.b.writeTo(doomed.Remote(), 0, 64))
		doomed.expectBytes(0, p.b.mem.want[:64])
		p.mustPlace(v, doomed, 0, 4096)
		doomed.verify("before it is closed")
		at := doomed.Remote()
		t.must("Region.Close", doomed.Close())
		next := t.mem(p.a.dom, 4096, everything)
		if v.Place(at, p.fresh(64)) {
			t.Fatalf("Place has written a region that is closed")
		}
		next.verify("after Place into a region that is closed")
		p.mustPlace(v, far, 0, 4096)
		far.verify("after Place")
		t.must("Region.Close", next.Close())
	}
	p.quiet()
}

func placeNotReady(p *pair, v fabric.Placer, far *mem) {
	p.t.must("Disconnect", p.b.qp.Disconnect())
	if v.Place(far.Remote(), p.fresh(64)) {
		p.t.Fatalf("Place on a connection that is over")
	}
	far.verify("after Place on a connection that is over")
}

func placeTransport(t *trial, tr fabric.Transport) {
	p := t.pair(pairConfig{tr: tr, size: 4096})
	v, ok := p.b.qp.(fabric.Placer)
	if !ok {
		return
	}
	if tr == fabric.UC {
		p.do(p.b, p.b.writeTo(p.a.mem.Remote(), 0, 64))
		p.a.mem.expectBytes(0, p.b.mem.want[:64])
	}
	if v.Place(p.a.mem.Remote(), make([]byte, 64)) {
		t.Fatalf("Place on %v", tr)
	}
}

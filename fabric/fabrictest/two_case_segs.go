package fabrictest

import (
	"fmt"

	"github.com/remora-kv/remora/fabric"
)

func twoSegmentCases() []*twoCase {
	return join(
		twoEach("segments/send", ruleMore, twoSegmentsSend, fabric.RC, fabric.UC, fabric.UD),
		twoEach("segments/write", ruleMore, twoSegmentsWrite, fabric.RC),
		twoEach("segments/read", ruleMore, twoSegmentsRead, fabric.RC),
		twoEach("G1/chains", ruleOrder, twoChains, fabric.RC),
	)
}

// twoSegmentsSend gathers messages here and scatters them there, cut at other
// places.
func twoSegmentsSend(p *party, tr fabric.Transport) {
	l := p.connect(pairConfig{tr: tr, size: 16 << 10})
	limit := 5000
	if tr == fabric.UD {
		limit = p.both.MTU
	}
	rounds := p.times(20)
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
func (l *link) takeScattered(i int, r fabric.RecvWR, into []fabric.Seg) {
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

// twoSegmentsWrite gathers what it writes.
func twoSegmentsWrite(p *party, tr fabric.Transport) {
	l := p.connect(pairConfig{tr: tr, size: 16 << 10})
	type written struct{ At, Size int }
	rounds := p.times(20)
	p.turns(func() {
		rng := p.random(0)
		for i := range rounds {
			n := rng.IntN(5000)
			x := written{At: rng.IntN(l.mem.Len() - n), Size: n}
			from := cut(rng, l.mem, n, p.both.MaxSegs)
			l.mem.gather(from, pattern(i+1).bytes(0, n))
			w := l.writeTo(l.peer.At(x.At), 0, 0)
			w.Local, w.More = from[0], from[1:]
			p.wantDone(l.do(w)[0], w)
			p.say(x)
			p.meet("looked at", l.owner)
			l.mem.verify("the initiator")
		}
	}, func() {
		for i := range rounds {
			var x written
			p.hear(&x)
			l.mem.expect(x.At, pattern(i+1), x.Size)
			l.mem.verify(fmt.Sprintf("WRITE %d of %d bytes to %d", i, x.Size, x.At))
			p.meet("looked at", l.owner)
		}
	})
}

// twoSegmentsRead scatters what it reads.
func twoSegmentsRead(p *party, tr fabric.Transport) {
	l := p.connect(pairConfig{tr: tr, size: 16 << 10})
	p.turns(func() {
		rng := p.random(0)
		p.meet("filled", l.owner)
		for i := range p.times(20) {
			n := rng.IntN(5000)
			at := rng.IntN(l.mem.Len() - n)
			into := cut(rng, l.mem, n, p.both.MaxSegs)
			w := l.readFrom(l.peer.At(at), 0, 0)
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

// chainLink is one part of a chain: sizes and places that both sides compute.
type chainLink struct {
	k, size int
	pat     pattern
}

const (
	chainSlot   = 1024
	chainLinks  = 8
	chainWrites = 0 * chainLinks * chainSlot
	chainImms   = 1 * chainLinks * chainSlot
	chainInbox  = 2 * chainLinks * chainSlot // at the target; READs go there at the initiator
	chainWord   = 3 * chainLinks * chainSlot
	chainRoom   = chainWord + chainSlot
)

// twoChains posts all operations in one chain, few of them signaled.
func twoChains(p *party, tr fabric.Transport) {
	l := p.connect(pairConfig{tr: tr, size: chainRoom})
	rounds := p.times(12)
	list := func(round int) []chainLink {
		rng := p.random(round)
		var all []chainLink
		for k := range chainLinks {
			all = append(all, chainLink{k: k, size: 1 + rng.IntN(chainSlot), pat: pattern(round*chainLinks + k + 1)})
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
func (l *link) postChain(list []chainLink, round uint64) {
	p := l.p
	p.Helper()
	var wrs []fabric.WR
	for _, x := range list {
		at := x.k * chainSlot
		l.mem.write(chainWrites+at, x.pat, x.size)
		l.mem.expect(chainInbox+at, x.pat, x.size)
		wrs = append(wrs,
			unsignaled(l.writeTo(l.peer.At(chainWrites+at), chainWrites+at, x.size)),
			unsignaled(l.sendFrom(chainWrites+at, x.size)),
			l.readFrom(l.peer.At(chainWrites+at), chainInbox+at, x.size),
			unsignaled(l.writeImmTo(l.peer.At(chainImms+at), chainWrites+at, x.size, uint32(x.k))))
		if p.both.Atomics {
			wrs = append(wrs, unsignaled(l.fetchAdd(l.peer.At(chainWord), chainWord+8*x.k, 1)))
			l.mem.expectWord(chainWord+8*x.k, round*chainLinks+uint64(x.k))
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
func (l *link) takeChain(list []chainLink, round uint64) {
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
		l.mem.expectWord(chainWord, (round+1)*chainLinks)
	}
	l.mem.verify(fmt.Sprintf("round %d at the target", round))
}

package fabrictest

import (
	"fmt"
	"time"

	"github.com/remora-kv/remora/fabric"
)

const (
	ruleRNR = "Without one, RC waits as long as RNRTimeout says, then fails with StatusRNRExceeded; UC and UD drop."
	ruleOne = "SEND and WRITE_IMM consume one posted receive each."
)

func receiveCases() []*testCase {
	return join(
		one("G9/rnr-at-once", ruleRNR, rnrAtOnce),
		one("G9/rnr-in-time", ruleRNR, rnrInTime),
		one("G9/rnr-forever", ruleRNR, rnrForever),
		one("G9/rnr-no-wait-needed", ruleRNR, rnrNoWaitNeeded),
		one("G9/rnr-one-sided", ruleRNR, rnrOneSided),
		each("G9/one-each", ruleOne, oneEach, fabric.RC),
		each("G9/dropped", ruleRNR, droppedWithoutReceive, fabric.UC, fabric.UD),
	)
}

// messages are the two operations that consume a receive.
func (e *end) messages(to *mem) []fabric.WR {
	return []fabric.WR{e.sendFrom(0, 16), e.writeImmTo(to.Remote(), 0, 16, 1)}
}

// wantRNR checks that w failed for want of a receive, those after it were
// flushed, and nothing was written.
func (p *pair) wantRNR(w fabric.WR, after ...fabric.WR) {
	t := p.t
	t.Helper()
	p.await("the failure", func() bool { return len(p.b.sent) > len(after) })
	p.b.wantFailure(w, fabric.StatusRNRExceeded, after...)
	p.b.wantBroken(fabric.ErrCompletion)
	p.a.mem.verify("the target of a request without a receive")
}

func rnrAtOnce(t *trial) {
	for i := range 2 {
		p := t.pair(pairConfig{noWait: true})
		w := p.b.messages(p.a.mem)[i]
		if i == 1 {
			w = unsignaled(w)
		}
		after := p.b.writeTo(p.a.mem.Remote(), 0, 64)
		p.b.post(w, after)
		p.wantRNR(w, after)
	}
}

// rnrInTime posts the receive before a generous timeout is over.
func rnrInTime(t *trial) {
	for i := range 2 {
		p := t.pair(pairConfig{rnr: 20 * time.Second})
		for round := range t.times(20) {
			w := p.b.messages(p.a.mem)[i]
			p.b.post(w)
			p.quiet()
			p.a.postRecv(p.a.recvAt(64, 16))
			t.wantDone(p.sends(p.b, 1)[0], w)
			p.recvs(p.a, 1)
			t.must(fmt.Sprintf("round %d: Err", round), p.b.qp.Err())
		}
	}
}

// rnrForever has a queue of messages wait, and receives come a few at a time.
func rnrForever(t *trial) {
	const depth = 32
	p := t.pair(pairConfig{sendDepth: depth, recvDepth: depth})
	for round := range t.times(10) {
		first := p.last + 1
		p.b.post(p.numbered(depth)...)
		p.quiet()
		for posted := 0; posted < depth; {
			n := min(1+posted%5, depth-posted)
			for i := range n {
				p.a.postRecv(p.a.recvAt((posted+i)*16, 16))
			}
			posted += n
			p.await("messages", func() bool { return len(p.a.received) >= posted && len(p.b.sent) >= posted })
			t.linger(p.a.owner, p.b.owner)
			if len(p.a.received) != posted || len(p.b.sent) != posted {
				t.Fatalf("round %d: %d receives posted, %d messages arrived, %d sent", round, posted, len(p.a.received), len(p.b.sent))
			}
		}
		p.exactly(depth, first)
		p.b.takeSent(depth)
	}
}

// rnrNoWaitNeeded never waits, because receives are always there first.
func rnrNoWaitNeeded(t *trial) {
	p := t.pair(pairConfig{noWait: true, size: t.slots(2)})
	for i := range t.times(200) {
		p.sendOne(p.b, variant{size: i % 200, signaled: true}, fmt.Sprintf("message %d", i))
		p.sendOne(p.a, variant{size: i % 200, signaled: true}, fmt.Sprintf("answer %d", i))
	}
}

// rnrOneSided needs no receive for one-sided operations.
func rnrOneSided(t *trial) {
	p := t.pair(pairConfig{noWait: true})
	for range 50 {
		p.do(p.b, p.b.writeTo(p.a.mem.Remote(), 0, 100), p.b.readFrom(p.a.mem.Remote(), 200, 100))
		if p.b.dev.Limits().Atomics {
			p.do(p.b, p.b.fetchAdd(p.a.mem.Remote(), 512, 1))
		}
	}
	t.must("Err", p.b.qp.Err())
}

// oneEach counts receives against messages of both kinds.
func oneEach(t *trial, tr fabric.Transport) {
	const depth = 32
	p := t.pair(pairConfig{tr: tr, sendDepth: depth, recvDepth: depth})
	for range depth {
		p.a.postRecv(p.a.recvAt(0, 64))
	}
	rng := t.random(0)
	for left := depth; left > 0; {
		n := 1 + rng.IntN(min(left, 5))
		for range n {
			p.b.post(p.b.messages(p.a.mem)[rng.IntN(2)], p.b.fenceWR())
		}
		p.sends(p.b, 2*n)
		p.recvs(p.a, n)
		left -= n
	}
	p.b.post(p.b.sendFrom(0, 1))
	p.quiet() // no receive is left
	p.a.postRecv(p.a.recvAt(0, 64))
	p.sends(p.b, 1)
	p.recvs(p.a, 1)
}

// droppedWithoutReceive loses messages, and later ones arrive.
func droppedWithoutReceive(t *trial, tr fabric.Transport) {
	p := t.pair(pairConfig{tr: tr, size: t.slots(2)})
	for range 10 {
		for range 8 {
			p.do(p.b, p.b.sendFrom(0, 16))
		}
		if tr == fabric.UC {
			p.do(p.b, p.b.writeImmTo(p.a.mem.Remote(), 0, 0, 7))
		}
		p.quiet()
		t.settle(func() bool { return p.a.qp.Counters().Dropped+p.b.qp.Counters().Dropped != 0 }, p.a.owner, p.b.owner)
		if p.a.qp.State() != fabric.StateReady || p.b.qp.State() != fabric.StateReady {
			t.Fatalf("the queue pairs are %v (%v) and %v (%v)", p.a.qp.State(), p.a.qp.Err(), p.b.qp.State(), p.b.qp.Err())
		}
		p.sendOne(p.b, variant{size: 40, signaled: true}, "a message after those that were dropped")
		p.sendOne(p.a, variant{size: 40, signaled: true}, "an answer")
	}
	p.quiet()
}

const (
	ruleLong = "A message larger than the receive posted for it fails the receive with StatusLocalLength and, on RC, the send with " +
		"StatusRemoteInvalid; both sides break. On UD it is dropped."
	ruleImm = "the memory of that receive is not touched."
)

func overlongCases() []*testCase {
	return join(
		one("G9/overlong/rc", ruleLong, overlongRC),
		one("G9/overlong/uc", ruleLong, overlongUC),
		one("G9/overlong/ud", ruleLong, overlongUD),
		each("G9/exact-fit", ruleOne, exactFit, fabric.RC, fabric.UC, fabric.UD),
		each("G19/receive-untouched", ruleImm, immUntouched, fabric.RC),
	)
}

func overlongRC(t *trial) {
	for _, size := range []int{1, 17, 4097, 100000} {
		p := t.pair(pairConfig{size: 128 << 10, sendDepth: 8, recvDepth: 8})
		good, short, rest := p.a.recvAt(0, 16), p.a.recvAt(64, size-1), p.a.recvAt(64, size)
		p.a.postRecv(good, short, rest)
		p.b.postRecv(p.b.recvAt(0, 16))
		pat := p.next()
		p.b.mem.write(0, pat, 16)
		ok, bad := p.b.sendFrom(0, 16), p.b.sendFrom(0, size)
		after := []fabric.WR{unsignaled(p.b.sendFrom(0, 1)), p.b.writeTo(p.a.mem.Remote().At(90000), 0, 64)}
		p.b.post(append([]fabric.WR{ok, unsignaled(bad)}, after...)...)
		p.a.mem.expect(0, pat, 16)
		p.await("the completions", func() bool {
			return len(p.b.sent) >= 4 && len(p.b.received) >= 1 && len(p.a.received) >= 3
		})
		t.wantDone(p.b.sent[0], ok)
		p.b.sent = p.b.sent[1:]
		p.b.wantFailure(bad, fabric.StatusRemoteInvalid, after...)
		got := p.a.received
		if len(got) != 3 || got[0].ID != good.ID || got[0].Status != fabric.StatusOK ||
			got[1].ID != short.ID || got[1].Status != fabric.StatusLocalLength ||
			got[2].ID != rest.ID || got[2].Status != fabric.StatusFlushed {
			t.Fatalf("a SEND of %d bytes into %d: receives completed as %+v", size, size-1, got)
		}
		p.b.wantFlushed()
		p.b.wantBroken(fabric.ErrCompletion)
		p.a.wantBroken(fabric.ErrCompletion)
		p.a.mem.ignore(64, size-1) // a NIC fills the receive before it notices
		p.a.mem.verify("around a receive that was too short")
	}
}

// overlongUC fails the receive; what becomes of the sender is not promised.
func overlongUC(t *trial) {
	t.need(fabric.UC)
	p := t.pair(pairConfig{tr: fabric.UC})
	short, rest := p.a.recvAt(0, 16), p.a.recvAt(64, 64)
	p.a.postRecv(short, rest)
	for range attempts(fabric.UC) {
		if _, err := p.b.qp.Post([]fabric.WR{p.b.sendFrom(0, 17)}); err != nil {
			break
		}
		if t.settle(func() bool { return len(p.a.received) >= 2 }, p.a.owner, p.b.owner) {
			break
		}
	}
	got := p.a.received
	if len(got) != 2 || got[0].ID != short.ID || got[0].Status != fabric.StatusLocalLength ||
		got[1].ID != rest.ID || got[1].Status != fabric.StatusFlushed {
		t.Fatalf("a SEND of 17 bytes into 16: receives completed as %+v", got)
	}
	p.a.wantBroken(fabric.ErrCompletion)
	p.a.mem.ignore(0, 16)
	p.a.mem.verify("around a receive that was too short")
}

// overlongUD drops the datagram and keeps the receive.
func overlongUD(t *trial) {
	t.need(fabric.UD)
	p := t.pair(pairConfig{tr: fabric.UD, size: t.slots(2)})
	for _, room := range []int{0, 16, 39, 40, 41, 100} { // header included
		for _, size := range []int{room - fabric.GRHSize + 1, room + 200} {
			size = max(size, 1)
			r := fabric.RecvWR{ID: p.a.id(), Local: p.a.mem.Seg(t.slot(0), room)}
			p.a.postRecv(r)
			p.do(p.b, p.b.sendFrom(0, size))
			p.quiet()
			fits := room - fabric.GRHSize
			if fits < 0 {
				// Nothing fits: start again with a pair whose receives are empty.
				p = t.pair(pairConfig{tr: fabric.UD, size: t.slots(2)})
				continue
			}
			for range attempts(fabric.UD) {
				p.do(p.b, p.b.sendFrom(0, fits))
				if t.settle(func() bool { return len(p.a.received) > 0 }, p.a.owner, p.b.owner) {
					break
				}
			}
			if c := p.recvs(p.a, 1)[0]; c.ID != r.ID || int(c.Bytes) != room {
				t.Fatalf("after a datagram of %d bytes into %d, one of %d completed as %+v", size, room, fits, c)
			}
		}
	}
}

// exactFit receives messages into buffers of exactly their size.
func exactFit(t *trial, tr fabric.Transport) {
	p := t.pair(pairConfig{tr: tr, size: t.slots(2)})
	for _, size := range []int{0, 1, 2, 15, 16, 17, t.mtu() - 1, t.mtu()} {
		p.sendOne(p.b, variant{size: size, signaled: true}, fmt.Sprintf("%d bytes", size))
	}
}

// immUntouched has receives of every kind consumed by WRITE_IMM, even without
// memory.
func immUntouched(t *trial, tr fabric.Transport) {
	p := t.pair(pairConfig{tr: tr})
	empty := fabric.RecvWR{ID: p.a.id()}
	small, large := p.a.recvAt(8192, 1), p.a.recvAt(8192, 4096)
	pat := p.next()
	p.b.mem.write(0, pat, 2000)
	for i, r := range []fabric.RecvWR{empty, small, large} {
		p.a.postRecv(r)
		p.do(p.b, p.b.writeImmTo(p.a.mem.Remote().At(100), 0, 2000, uint32(i)))
		p.a.mem.expect(100, pat, 2000)
		if c := p.recvs(p.a, 1)[0]; c.ID != r.ID || c.Imm != uint32(i) || !c.HasImm || c.Bytes != 2000 {
			t.Fatalf("receive completed as %+v", c)
		}
		p.a.mem.verify("the target")
	}
	// A receive without memory takes an empty SEND as well, and no other.
	p.a.postRecv(fabric.RecvWR{ID: p.a.id()})
	p.do(p.b, p.b.sendFrom(0, 0))
	if c := p.recvs(p.a, 1)[0]; c.Bytes != 0 || c.HasImm {
		t.Fatalf("an empty SEND completed as %+v", c)
	}
	t.must("Err", p.a.qp.Err())
}

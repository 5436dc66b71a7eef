package fabrictest

import (
	"errors"

	"github.com/remora-kv/remora/fabric"
)

func twoAccessCases() []*twoCase {
	var cases []*twoCase
	for op := fabric.OpWrite; op < fabric.NumOps; op++ {
		cases = append(cases, twoEach("G7/refused/"+lowerName(op), ruleRights+" "+ruleTold, twoRefused(op), fabric.RC)...)
	}
	return join(cases,
		twoEach("G7/dropped/write", ruleRights+" "+ruleTold, twoDropped, fabric.UC),
		twoEach("G7/revoked", ruleRevoke, twoRevoked, fabric.RC),
	)
}

// trespass is a violation as the target tells it to the initiator.
type trespass struct {
	What   string
	Target fabric.Remote
	Size   int
}

// trespasses makes places where an operation has no business. None of the
// regions may change.
func (p *party) trespasses(op fabric.Op) (list []trespass, watched []*mem) {
	const size = 8192
	dom, n := p.domain(p.dev), 64
	if op.Atomic() {
		n = 8
	}
	good := p.mem(dom, size, everything)
	lacking := p.mem(dom, size, everything&^op.Needs())
	elsewhere := p.mem(p.newDomain(p.dev), size, everything)
	revoked := p.mem(dom, size, everything)
	gone := revoked.Remote()
	p.must("Region.Close", revoked.Close())
	watched = []*mem{good, lacking, elsewhere, p.mem(dom, size, everything)}
	for _, m := range watched {
		m.shared = true
	}
	r := good.Remote()
	return []trespass{
		{"region without the right " + op.Needs().String(), lacking.Remote(), n},
		{"region of another domain", elsewhere.Remote(), n},
		{"revoked region", gone, n},
		{"end one word after the region", r.At(size - n + 8), n},
		{"begin one word before the region", fabric.Remote{Addr: r.Addr - 8, Key: r.Key}, n},
		{"address 0", fabric.Remote{Key: r.Key}, n},
	}, watched
}

// twoRefused tries each trespass on a connection of its own.
func twoRefused(op fabric.Op) func(p *party, tr fabric.Transport) {
	return func(p *party, tr fabric.Transport) {
		if op.Atomic() {
			p.needBothAtomics()
		}
		var list []trespass
		var watched []*mem
		if p.role == Server {
			list, watched = p.trespasses(op)
			p.say(list)
		} else {
			p.hear(&list)
		}
		for _, x := range list {
			l := p.connect(pairConfig{tr: tr, size: 4096, sendDepth: 8, recvDepth: 8})
			if p.role == Client {
				l.trespass(op, x)
			} else {
				l.suffer(x, watched)
			}
			p.meet("after "+x.What, l.owner)
			p.must("Close", l.qp.Close())
		}
	}
}

// trespass posts a good request, the bad one and one behind it.
func (l *link) trespass(op fabric.Op, x trespass) {
	p := l.p
	p.Helper()
	l.mem.write(0, pattern(1), 64)
	bad := l.request(op, x.Target, 1024, x.Size)
	after := unsignaled(l.writeTo(l.peer.At(1024), 0, 64))
	p.meet("ready", l.owner)
	l.post(unsignaled(l.writeTo(l.peer, 0, 64)), bad, after)
	p.await("the failure", func() bool { return len(l.sent) >= 2 }, l.owner)
	if c := l.sent[0]; c.ID != bad.ID || c.Op != op || c.Status != fabric.StatusRemoteAccess {
		p.Fatalf("%s: %v completed as %+v", x.What, op, c)
	}
	if c := l.sent[1]; c.ID != after.ID || c.Status != fabric.StatusFlushed || len(l.sent) != 2 {
		p.Fatalf("%s: the completions are %+v, the second is of the request behind", x.What, l.sent)
	}
	var ce *fabric.CompletionError
	if err := l.qp.Err(); l.qp.State() != fabric.StateError || !errors.As(err, &ce) || ce.Status != fabric.StatusRemoteAccess {
		p.Fatalf("%s: the queue pair is %v: %v", x.What, l.qp.State(), err)
	}
	l.mem.verify(x.What + ": local memory")
}

// suffer checks that a trespass breaks this side too, and touches nothing.
func (l *link) suffer(x trespass, watched []*mem) {
	p := l.p
	p.Helper()
	l.mem.expect(0, pattern(1), 64)
	l.postRecv(l.recvAt(2048, 64))
	p.meet("ready", l.owner)
	p.await(x.What+": the queue pair to break", func() bool {
		return l.qp.State() == fabric.StateError && len(l.received) > 0
	}, l.owner)
	p.wantErr(x.What+": Err", l.qp.Err(), fabric.ErrCompletion, fabric.ErrDisconnected, fabric.ErrPeerLost, fabric.ErrProtocol)
	if c := l.received[0]; c.Status != fabric.StatusFlushed || len(l.received) != 1 {
		p.Fatalf("%s: the receive completed as %+v", x.What, l.received)
	}
	l.mem.verify(x.What + ": the region for the others")
	for _, m := range watched {
		m.verify(x.What + ": a region")
	}
}

// twoDropped tries the trespasses on one connection of UC: nobody is told,
// nothing changes, and what comes after arrives.
func twoDropped(p *party, tr fabric.Transport) {
	l := p.connect(pairConfig{tr: tr, size: room(256)})
	var list []trespass
	var watched []*mem
	if p.role == Server {
		list, watched = p.trespasses(fabric.OpWrite)
		p.say(list)
	} else {
		p.hear(&list)
	}
	for i, x := range list {
		good := transfer{op: fabric.OpWrite, n: 100 + i, most: 256, pat: pattern(i + 1)}
		if p.role == Client {
			w := l.request(fabric.OpWrite, x.Target, 0, x.Size)
			p.wantDone(l.do(w)[0], w)
			l.initiate(good)
		} else {
			l.serve(good)
			for _, m := range watched {
				m.verify(x.What + ": a region")
			}
		}
		if l.qp.State() != fabric.StateReady {
			p.Fatalf("%s: the queue pair is %v: %v", x.What, l.qp.State(), l.qp.Err())
		}
	}
}

// twoRevoked closes a region that the other side has used before.
func twoRevoked(p *party, tr fabric.Transport) {
	ops := []fabric.Op{fabric.OpWrite, fabric.OpRead}
	if p.both.Atomics {
		ops = append(ops, fabric.OpFetchAdd)
	}
	for _, op := range ops {
		// Made before the connection, which orders it before what comes (W5).
		r := p.mem(p.domain(p.dev), 4096, everything)
		l := p.connect(pairConfig{tr: tr, size: 4096, sendDepth: 8, recvDepth: 8})
		x := trespass{What: "region that was closed meanwhile", Size: 8}
		if p.role == Server {
			p.say(r.Remote())
			p.meet("used", l.owner)
			p.must("Region.Close", r.Close())
			successor := p.mem(l.dom, 4096, everything)
			successor.shared = true
			l.suffer(x, []*mem{successor})
		} else {
			p.hear(&x.Target, l.owner)
			w := l.request(op, x.Target, 3072, x.Size)
			p.wantDone(l.do(w)[0], w)
			l.mem.ignore(3072, x.Size)
			p.meet("used", l.owner)
			l.trespass(op, x)
		}
		p.meet("refused", l.owner)
		p.must("Close", l.qp.Close())
	}
}

package fabrictest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/remora-kv/remora/fabric"
)

func twoReceiveCases() []*twoCase {
	return join(
		twoEach("G9/rnr-late", ruleRNR, twoLateReceive, fabric.RC),
		twoEach("G9/rnr-timeout", ruleRNR, twoRNRTimeout, fabric.RC),
	)
}

// twoLateReceive has a message wait until the other side posts a receive.
func twoLateReceive(p *party, tr fabric.Transport) {
	l := p.connect(pairConfig{tr: tr})
	p.turns(func() {
		for i := range 4 {
			l.mem.write(0, pattern(i+1), 64)
			w := l.sendFrom(0, 64)
			if i%2 == 1 {
				w = l.writeImmTo(l.peer.At(0), 0, 64, 5)
			}
			l.post(w)
			l.wantQuiet()
			p.meet("posted", l.owner)
			p.wantDone(l.done(1)[0], w)
			p.meet("received", l.owner)
		}
	}, func() {
		for i := range 4 {
			p.meet("posted", l.owner)
			l.mem.verify("before there is a receive")
			l.postRecv(l.recvAt(0, 64))
			l.got(1)
			l.mem.expect(0, pattern(i+1), 64)
			l.mem.verify("a message that waited")
			p.meet("received", l.owner)
		}
	})
}

// twoRNRTimeout has a message wait in vain.
func twoRNRTimeout(p *party, tr fabric.Transport) {
	const limit = 60 * time.Millisecond
	l := p.connect(pairConfig{tr: tr, rnr: limit})
	if p.role == Server {
		p.meet("failed", l.owner)
		l.mem.verify("the target of a message without a receive")
		return
	}
	start := p.dev.Clock().Now()
	w := l.sendFrom(0, 64)
	l.post(w)
	p.await("the failure", func() bool { return len(l.sent) > 0 }, l.owner)
	if c := l.sent[0]; c.ID != w.ID || c.Status != fabric.StatusRNRExceeded {
		p.Fatalf("a message without a receive completed as %+v", c)
	}
	if took := time.Duration(p.dev.Clock().Now() - start); took < limit {
		p.Fatalf("the receiver had %v, not %v", took, limit)
	}
	p.meet("failed", l.owner)
}

func twoConnectCases() []*twoCase {
	return join(
		twoEach("connect/private-data", rulePrivate, twoPrivate, fabric.RC, fabric.UC),
		twoEach("connect/reject", ruleRefuse, twoReject, fabric.RC),
		twoEach("connect/nobody", ruleRefuse, twoNobody, fabric.RC),
		twoEach("connect/many-at-once", "A queue pair is ready when its maker returns it.", twoMany, fabric.RC),
		twoEach("G13/graceful", ruleGraceful, twoGraceful, fabric.RC),
	)
}

// dialTo dials the server with private data.
func (p *party) dialTo(addr fabric.Addr, o *owner, tr fabric.Transport, private []byte) (fabric.QP, error) {
	qp, err := p.dev.Dial(p.context, addr, pairConfig{tr: tr}.withDefaults().config(o), private)
	if qp != nil {
		p.keep(&p.qps, "QP", false, qp.Close)
	}
	return qp, err
}

// request takes the next connection request at the server.
func (p *party) nextRequest() fabric.ConnRequest {
	p.Helper()
	req, err := p.listener().Accept(p.context)
	p.must("Listener.Accept", err)
	return req
}

// twoPrivate shows private data of all lengths to both sides.
func twoPrivate(p *party, tr fabric.Transport) {
	most := p.both.MaxPrivate
	lengths := []int{0, 1, 56, most - 1, most}
	o := p.owner(p.dev, p.domain(p.dev), 4096, false)
	var addr fabric.Addr
	if p.role == Server {
		p.say(p.listener().Addr().String())
	} else {
		addr = p.theirAddr()
	}
	for i, n := range lengths {
		ask, answer := pattern(2*i+1).bytes(0, n), pattern(2*i+2).bytes(0, lengths[len(lengths)-1-i])
		var qp fabric.QP
		want := answer
		if p.role == Server {
			req := p.nextRequest()
			if req.Transport() != tr || !bytes.Equal(req.Private(), ask) {
				p.Fatalf("request for %v with %x, want %v with %x", req.Transport(), req.Private(), tr, ask)
			}
			qp, want = p.take(req, o, answer), ask
		} else {
			var err error
			qp, err = p.dialTo(addr, o, tr, ask)
			p.must("Dial", err)
		}
		if !bytes.Equal(qp.PeerPrivate(), want) {
			p.Fatalf("the peer's private data is %x, want %x", qp.PeerPrivate(), want)
		}
		p.meet(fmt.Sprintf("private data of %d bytes", n))
		p.must("Close", qp.Close())
	}
}

// twoReject refuses some, then takes one.
func twoReject(p *party, tr fabric.Transport) {
	why := [][]byte{nil, []byte("not today"), pattern(3).bytes(0, p.both.MaxPrivate)}
	if p.role == Server {
		p.say(p.listener().Addr().String())
		for _, b := range why {
			p.must("Reject", p.nextRequest().Reject(b))
		}
	} else {
		o := p.owner(p.dev, p.domain(p.dev), 1024, false)
		addr := p.theirAddr()
		for _, b := range why {
			qp, err := p.dialTo(addr, o, tr, []byte("please"))
			var re *fabric.RejectedError
			if qp != nil || !errors.As(err, &re) || !bytes.Equal(re.Private, b) {
				p.Fatalf("Dial that is rejected with %x returned %v, %v", b, qp, err)
			}
		}
	}
	p.meet("rejected")
	twoMessage(p, tr)
}

// twoNobody dials where a listener has been.
func twoNobody(p *party, tr fabric.Transport) {
	if p.role == Server {
		l := p.newListener(fabric.ListenConfig{})
		p.must("Listener.Close", l.Close())
		p.say(l.Addr().String())
		p.meet("refused")
		return
	}
	o := p.owner(p.dev, p.domain(p.dev), 1024, false)
	qp, err := p.dialTo(p.theirAddr(), o, tr, nil)
	if qp != nil || !errors.Is(err, fabric.ErrRefused) {
		p.Fatalf("Dial where nobody listens any more returned %v, %v", qp, err)
	}
	p.meet("refused")
}

// twoMany makes many connections to one listener at the same time. Each leads
// to its own peer.
func twoMany(p *party, tr fabric.Transport) {
	const n = 8
	ends := make([]*end, n)
	c := p.crew()
	join := func(i int, o *owner, qp fabric.QP) {
		ends[i] = o.add(qp, pairConfig{}.withDefaults().config(o), p.mem(o.dom, 4096, everything))
		ends[i].mem.shared = true
	}
	dom := p.domain(p.dev)
	if p.role == Server {
		l := p.listener()
		for range n {
			c.run(func() {
				req := p.nextRequest()
				i := slices.IndexFunc(manyNames[:], func(s string) bool { return s == string(req.Private()) })
				if i < 0 {
					p.Fatalf("private data %q", req.Private())
				}
				o := p.owner(p.dev, dom, 128, false)
				qp, err := req.Accept(p.context, pairConfig{}.withDefaults().config(o), req.Private())
				p.must("Accept", err)
				join(i, o, qp)
			})
		}
		p.say(l.Addr().String())
	} else {
		addr := p.theirAddr()
		for i := range n {
			c.run(func() {
				o := p.owner(p.dev, dom, 128, false)
				qp, err := p.dev.Dial(p.context, addr, pairConfig{}.withDefaults().config(o), []byte(manyNames[i]))
				p.must("Dial", err)
				if string(qp.PeerPrivate()) != manyNames[i] {
					p.Fatalf("%s was answered %q", manyNames[i], qp.PeerPrivate())
				}
				join(i, o, qp)
			})
		}
	}
	c.join()
	p.greetAll(ends)
}

// manyNames are the private data of those who connect at the same time.
var manyNames = [8]string{"ann", "bob", "cat", "dan", "eve", "fay", "gus", "hal"}

// greetAll sends a message both ways on every connection.
func (p *party) greetAll(ends []*end) {
	p.Helper()
	var owners []*owner
	for _, e := range ends {
		e.postRecv(e.recvAt(0, 64))
		owners = append(owners, e.owner)
	}
	p.meet("receives", owners...)
	for i, e := range ends {
		e.mem.write(1024, pattern(2*i+int(p.role)), 64)
		e.post(e.sendFrom(1024, 64))
	}
	for i, e := range ends {
		p.await("a message both ways", func() bool { return len(e.sent) > 0 && len(e.received) > 0 }, owners...)
		e.takeSent(1)
		e.takeReceived(1)
		e.mem.expect(0, pattern(2*i+1-int(p.role)), 64)
		e.mem.verify("the message of " + manyNames[i])
	}
}

// twoGraceful ends connections while the other side has not looked yet.
func twoGraceful(p *party, tr fabric.Transport) {
	const n = 20
	for i, byClose := range []bool{false, true, false, true} {
		l := p.connect(pairConfig{tr: tr, size: 4096})
		if (p.role == Client) == (i < 2) {
			p.meet("receives", l.owner)
			for k := range n {
				l.mem.write(k*16, pattern(k+1), 16)
				l.post(l.sendFrom(k*16, 16))
			}
			l.done(n)
			if byClose {
				p.must("Close", l.qp.Close())
			} else {
				p.must("Disconnect", l.qp.Disconnect())
				p.wantErr("Err after Disconnect", l.qp.Err(), fabric.ErrClosed)
			}
			p.meet("ended")
			continue
		}
		for k := range n + 4 {
			l.postRecv(l.recvAt(k*16, 16))
		}
		p.meet("receives", l.owner)
		p.await("all receives", func() bool { return len(l.received) == n+4 }, l.owner)
		for k, c := range l.received {
			if (k < n) != (c.Status == fabric.StatusOK) || (k >= n && c.Status != fabric.StatusFlushed) {
				p.Fatalf("receive %d of %d completed as %+v; %d messages were sent", k, n+4, c, n)
			}
			if k < n {
				l.mem.expect(k*16, pattern(k+1), 16)
			}
		}
		l.mem.verify("the messages before the end")
		p.wantDisconnected(l.end)
		p.meet("ended")
	}
}

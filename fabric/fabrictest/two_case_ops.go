package fabrictest

import (
	"fmt"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/test/scale"
)

const ruleImmediate = "The 32 bits of WRITE_IMM arrive in the completion of the receive it consumed, " +
	"with HasImm set and Bytes the length written; the memory of that receive is not touched."

func twoOperationCases() []*twoCase {
	cases := twoEach("G8/first-message", ruleReliable, twoMessage, fabric.RC)
	for _, op := range []fabric.Op{fabric.OpSend, fabric.OpWrite, fabric.OpWriteImm, fabric.OpRead} {
		for _, tr := range []fabric.Transport{fabric.RC, fabric.UC, fabric.UD} {
			if tr.Allows(op) {
				cases = append(cases, twoEach("G8/sizes/"+lowerName(op), ruleOf(tr), twoSizes(op), tr)...)
			}
		}
	}
	return append(cases, join(
		twoEach("G6/results/fetch-add", ruleOld, twoResults(fabric.OpFetchAdd), fabric.RC),
		twoEach("G6/results/cmp-swap", ruleOld, twoResults(fabric.OpCmpSwap), fabric.RC),
		twoEach("G19/immediate", ruleImmediate, twoImmediate, fabric.RC, fabric.UC),
		twoEach("G8/megabyte", ruleReliable, twoMegabyte, fabric.RC),
		twoEach("G8/megabyte", ruleDrop, twoMegabyte, fabric.UC),
		twoEach("G18/one-sided", ruleOneSided, twoOneSided, fabric.RC),
	)...)
}

// ruleOf is what a transport promises about a message.
func ruleOf(tr fabric.Transport) string {
	if tr == fabric.RC {
		return ruleReliable
	}
	return ruleDrop
}

// transfer is one operation from one side to the other, on memory that is cut
// into two halves for messages of at most most bytes.
type transfer struct {
	op   fabric.Op
	n    int // bytes
	most int
	pat  pattern
	imm  uint32
}

func (x transfer) String() string { return fmt.Sprintf("%v of %d bytes", x.op, x.n) }

// from is where the initiator has its memory, at where the target has.
func (x transfer) from() int { return 67 }
func (x transfer) at() int   { return x.from() + x.most + 131 }

// room is the size of a region for transfers of at most most bytes.
func room(most int) int { return transfer{most: most}.at() + most + fabric.GRHSize + 131 }

// request makes the work request of the initiator.
func (l *link) transferWR(x transfer) fabric.WR {
	w := l.sendFrom(x.from(), x.n)
	w.Op, w.Imm = x.op, x.imm
	if x.op.OneSided() {
		w.Remote = l.peer.At(x.at())
	}
	return w
}

// initiate does the operation; the other side serves it.
func (l *link) initiate(x transfer) {
	p, tr := l.p, l.cfg.Transport
	p.Helper()
	if x.op == fabric.OpRead {
		l.mem.expect(x.from(), x.pat, x.n)
	} else {
		l.mem.write(x.from(), x.pat, x.n)
	}
	p.meet("ready for "+x.String(), l.owner)
	for range attempts(tr) {
		w := l.transferWR(x)
		l.post(w)
		p.wantDone(l.done(1)[0], w)
		l.mem.verify(x.String() + ": at the initiator")
		p.say(true)
		var arrived bool
		if p.hear(&arrived, l.owner); arrived {
			return
		}
	}
	p.Fatalf("%v: %d attempts, and none arrived", x, attempts(tr))
}

// serve takes the operation that the other side initiates.
func (l *link) serve(x transfer) {
	p, tr := l.p, l.cfg.Transport
	p.Helper()
	arrived := func() bool { return len(l.received) > 0 }
	var r fabric.RecvWR
	switch x.op {
	case fabric.OpSend:
		r = l.recvAt(x.at(), x.n)
		l.postRecv(r)
	case fabric.OpWriteImm:
		r = l.recvAt(1, x.n/2) // is not used, and may be too short
		l.postRecv(r)
		l.mem.expect(x.at(), x.pat, x.n)
	case fabric.OpWrite:
		l.mem.expect(x.at(), x.pat, x.n)
		arrived = func() bool { return l.mem.holds(x.at(), x.pat, x.n) }
	default:
		l.mem.write(x.at(), x.pat, x.n)
		arrived = func() bool { return true }
	}
	p.meet("ready for "+x.String(), l.owner)
	for range attempts(tr) {
		var sent bool
		p.hear(&sent, l.owner)
		ok := p.arrives(x.String(), tr, arrived, l.owner)
		if ok {
			l.accepted(x, r)
		}
		if p.say(ok); ok {
			return
		}
	}
	p.Fatalf("%v: %d attempts, and none arrived", x, attempts(tr))
}

// accepted checks what has arrived and that nothing else changed.
func (l *link) accepted(x transfer, r fabric.RecvWR) {
	p := l.p
	p.Helper()
	if x.op == fabric.OpSend || x.op == fabric.OpWriteImm {
		c, head := l.takeReceived(1)[0], 0
		if x.op == fabric.OpSend {
			head = l.head()
			l.mem.ignore(x.at(), head)
			l.mem.expect(x.at()+head, x.pat, x.n)
		}
		if c.ID != r.ID || c.Op != fabric.OpRecv || int(c.Bytes) != head+x.n ||
			c.HasImm != (x.op == fabric.OpWriteImm) || (c.HasImm && c.Imm != x.imm) {
			p.Fatalf("%v: the receive completed as %+v", x, c)
		}
		if l.cfg.Transport == fabric.UD && c.SrcQPN != l.peerQPN {
			p.Fatalf("%v: the datagram is from queue pair %d, sent by %d", x, c.SrcQPN, l.peerQPN)
		}
	}
	l.mem.verify(x.String() + ": at the target")
}

// exchange does the transfers in one direction, then in the other.
func (l *link) exchange(list []transfer) {
	last := pattern(0)
	all := func(do func(transfer)) func() {
		return func() {
			for _, x := range list {
				last++
				x.pat = last
				do(x)
			}
		}
	}
	l.p.turns(all(l.initiate), all(l.serve))
}

func twoMessage(p *party, tr fabric.Transport) {
	l := p.connect(pairConfig{tr: tr, size: room(64)})
	l.exchange([]transfer{{op: fabric.OpSend, n: 64, most: 64}})
}

// twoSizes does one operation with all sizes.
func twoSizes(op fabric.Op) func(p *party, tr fabric.Transport) {
	return func(p *party, tr fabric.Transport) {
		mtu := p.both.MTU
		most := min(mtu+1, p.both.MaxMessage)
		if tr == fabric.UD {
			most = mtu
		}
		var list []transfer
		for i, n := range []int{0, 1, 7, 8, 63, 64, 65, mtu - 1, mtu, mtu + 1} {
			if n <= most {
				list = append(list, transfer{op: op, n: n, most: most, imm: 0x80000000 | uint32(i)})
			}
		}
		l := p.connect(pairConfig{tr: tr, size: room(most)})
		l.exchange(list)
		if op != fabric.OpWrite && op != fabric.OpRead && tr == fabric.RC {
			l.wantQuiet()
		}
	}
}

// wantQuiet checks that nothing more completes.
func (l *link) wantQuiet() {
	l.t.Helper()
	l.t.linger(l.owner)
	if len(l.sent)+len(l.received) != 0 {
		l.t.Fatalf("unexpected completions: sends %+v, receives %+v", l.sent, l.received)
	}
}

// twoMegabyte does all operations with messages of many packets.
func twoMegabyte(p *party, tr fabric.Transport) {
	n := min(1<<20, p.both.MaxMessage)
	if scale.Race {
		n >>= 3 // shared memory is copied by small atomics there
	}
	var list []transfer
	for _, op := range []fabric.Op{fabric.OpSend, fabric.OpWrite, fabric.OpWriteImm, fabric.OpRead} {
		if tr.Allows(op) {
			list = append(list, transfer{op: op, n: n, most: n, imm: 77})
		}
	}
	p.connect(pairConfig{tr: tr, size: room(n)}).exchange(list)
}

// twoImmediate sends all kinds of immediates with and without data.
func twoImmediate(p *party, tr fabric.Transport) {
	var list []transfer
	for i, imm := range []uint32{0, 1, 0x12345678, 0xffffffff} {
		list = append(list, transfer{op: fabric.OpWriteImm, n: 33 * i, most: 128, imm: imm})
	}
	p.connect(pairConfig{tr: tr, size: room(128)}).exchange(list)
}

// twoResults does atomics one by one and compares words on both sides.
func twoResults(op fabric.Op) func(p *party, tr fabric.Transport) {
	return func(p *party, tr fabric.Transport) {
		p.needBothAtomics()
		l := p.connect(pairConfig{tr: tr, size: 4096})
		const rounds, local, at = 20, 64, 1024
		start := func(i int) uint64 { return pattern(7).word(i) }
		operand := func(i int) uint64 { return pattern(8).word(i) }
		// Every third compare finds another word than it says.
		stale := func(i int) bool { return op == fabric.OpCmpSwap && i%3 == 2 }
		p.turns(func() {
			p.meet("words", l.owner)
			for i := range rounds {
				w := l.fetchAdd(l.peer.At(at+8*i), local+8*i, operand(i))
				if op == fabric.OpCmpSwap {
					w = l.cmpSwap(w.Remote, local+8*i, start(i), operand(i))
				}
				if stale(i) {
					w.Compare++
				}
				l.mem.expectWord(local+8*i, start(i))
				p.wantDone(l.do(w)[0], w)
				l.mem.verify("the words as they were")
			}
			p.meet("done", l.owner)
		}, func() {
			for i := range rounds {
				l.mem.putWord(at+8*i, start(i))
			}
			p.meet("words", l.owner)
			p.meet("done")
			for i := range rounds {
				switch {
				case stale(i):
				case op == fabric.OpCmpSwap:
					l.mem.expectWord(at+8*i, operand(i))
				default:
					l.mem.expectWord(at+8*i, start(i)+operand(i))
				}
			}
			l.mem.verify("the words of the target")
		})
	}
}

// twoOneSided has the target's program do nothing at all: it is blocked until
// the initiator says that all is done.
func twoOneSided(p *party, tr fabric.Transport) {
	l := p.connect(pairConfig{tr: tr})
	const size = 1000
	rounds := p.times(40)
	p.turns(func() {
		p.meet("the target goes to rest")
		sum := uint64(0)
		for i := range rounds {
			pat := pattern(i + 1)
			l.mem.write(64, pat, size)
			l.do(l.writeTo(l.peer.At(64), 64, size))
			l.do(l.readFrom(l.peer.At(64), 2048, size))
			l.mem.expect(2048, pat, size)
			if p.both.Atomics {
				l.do(l.fetchAdd(l.peer, 0, 3))
				l.mem.expectWord(0, sum)
				l.do(l.cmpSwap(l.peer, 8, sum+3, sum+4))
				l.mem.expectWord(8, sum+3)
				sum += 4
			}
			l.mem.verify(fmt.Sprintf("round %d at the initiator", i))
		}
		p.meet("the target gets up")
	}, func() {
		l.mem.putWord(0, 0)
		p.meet("the target goes to rest")
		p.meet("the target gets up")
		l.mem.expect(64, pattern(rounds), size)
		if p.both.Atomics {
			l.mem.expectWord(0, 4*uint64(rounds))
		}
		l.mem.verify("the target that did nothing")
	})
}

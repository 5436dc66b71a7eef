package fabrictest

import (
	"errors"
	"fmt"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/test/scale"
)

const (
	ruleReliable = "On RC an operation that completed with success happened exactly once."
	ruleDrop     = "UC and UD may drop a message; they never deliver a part of one, an altered one, or one for another queue pair. " +
		"But of a WRITE on UC that is longer than the MTU and dropped, a part may have been placed."
	ruleTable  = "Anything else is refused by Post with ErrUnsupported."
	ruleInline = "A request posted with FlagInline has read its local memory when Post returns."
)

func operationCases() []*testCase {
	return join(
		each("G8/too-large", ruleDrop, tooLarge, fabric.UD),
		each("G14/inline", ruleInline, inlineIsRead, fabric.RC, fabric.UC, fabric.UD),
		each("ops/refused", ruleTable, refusedOperations, fabric.RC, fabric.UC, fabric.UD),
		each("ops/local-mistakes", "are errors of Post and not completions", localMistakes, fabric.RC, fabric.UC, fabric.UD),
	)
}

// variant is one way to do an operation.
type variant struct {
	size             int
	inline, signaled bool
}

func (v variant) String() string {
	return fmt.Sprintf("%d bytes, inline %v, signaled %v", v.size, v.inline, v.signaled)
}

func (v variant) apply(w fabric.WR) fabric.WR {
	if v.inline {
		w = inline(w)
	}
	if !v.signaled {
		w = unsignaled(w)
	}
	return w
}

// maxSmall is the largest of the small sizes.
func (t *trial) maxSmall() int { return t.mtu() + 1 }

// mtu is the smaller of the two.
func (t *trial) mtu() int { return min(t.world.A.Limits().MTU, t.world.B.Limits().MTU) }

// slot returns the i-th place in a region for messages up to maxSmall.
func (t *trial) slot(i int) int { return 67 + i*(t.maxSmall()+fabric.GRHSize+131) }

// slots is the size of a region with n slots.
func (t *trial) slots(n int) int { return t.slot(n) }

// attempts is how often a message is tried (S5).
func attempts(tr fabric.Transport) int {
	if tr == fabric.RC {
		return 1
	}
	return 20
}

// wantDone checks the completion of w at its initiator.
func (t *trial) wantDone(c fabric.Completion, w fabric.WR) {
	t.Helper()
	if c.ID != w.ID || c.Op != w.Op || c.Status != fabric.StatusOK || int(c.Bytes) != w.Bytes() {
		t.Fatalf("completion is %+v, of request %#x: %v of %d bytes", c, w.ID, w.Op, w.Bytes())
	}
}

// sendOne sends a message from e and checks what arrives, and that nothing
// else changes.
func (p *pair) sendOne(e *end, v variant, what string) {
	t, dst := p.t, p.other(e)
	t.Helper()
	tr := e.cfg.Transport
	sent := map[pattern]bool{}
	at, head := t.slot(0), dst.head()
	r := dst.recvAt(at, v.size)
	dst.postRecv(r)
	for try := range attempts(tr) {
		pat := p.next()
		sent[pat] = true
		// The memory of an unsignaled request is not ours before a later one
		// has completed: attempts take turns.
		turn := try
		if v.signaled {
			turn++
		}
		from := t.slot(turn % 2)
		e.mem.write(from, pat, v.size)
		w := v.apply(e.sendFrom(from, v.size))
		if try > 0 {
			w.Flags |= fabric.FlagSignaled
		}
		e.post(w)
		if w.Flags&fabric.FlagSignaled != 0 {
			t.wantDone(p.sends(e, 1)[0], w)
		}
		arrived := func() bool { return len(dst.received) > 0 }
		if tr == fabric.RC {
			p.await("the message: "+what, arrived)
		} else if !t.settle(arrived, p.a.owner, p.b.owner) {
			continue
		}
		c := dst.takeReceived(1)[0]
		if c.ID != r.ID || c.Op != fabric.OpRecv || int(c.Bytes) != head+v.size || c.HasImm {
			t.Fatalf("%s: receive completed as %+v", what, c)
		}
		if tr == fabric.UD && c.SrcQPN != e.qp.Num() {
			t.Fatalf("%s: datagram from queue pair %d, sent by %d", what, c.SrcQPN, e.qp.Num())
		}
		p.adopt(dst, at, head, v.size, sent)
		dst.mem.verify(what + ": at the receiver")
		e.mem.verify(what + ": at the sender")
		return
	}
	t.Fatalf("%s: %d attempts, and none arrived", what, attempts(tr))
}

// adopt makes the message of n bytes behind head bytes at off expected, if it
// is one of those that were sent.
func (p *pair) adopt(dst *end, off, head, n int, sent map[pattern]bool) {
	dst.mem.ignore(off, head)
	got := snapshot(dst.mem.Bytes()[off+head : off+head+n])
	for pat := range sent {
		if pat.match(got, 0) {
			dst.mem.expect(off+head, pat, n)
			return
		}
	}
	want := p.last.bytes(0, n)
	i := firstDifference(got, want)
	p.t.Fatalf("a message of %d bytes arrived altered: %s", n, explain(got, want, i))
}

// fenceWR is a signaled request that touches nothing; all requests before it
// are complete when it is.
func (e *end) fenceWR() fabric.WR {
	return fabric.WR{ID: e.id(), Op: fabric.OpWrite, Flags: fabric.FlagSignaled}
}

// writeOne writes from e to the other end and checks both regions.
func (p *pair) writeOne(e *end, v variant, what string) {
	t, dst := p.t, p.other(e)
	t.Helper()
	pat, from, at := p.next(), t.slot(0), t.slot(1)
	e.mem.write(from, pat, v.size)
	dst.mem.expect(at, pat, v.size)
	for range attempts(e.cfg.Transport) {
		w := v.apply(e.writeTo(dst.mem.Remote().At(at), from, v.size))
		if v.signaled {
			t.wantDone(p.do(e, w)[0], w)
		} else {
			f := e.fenceWR()
			t.wantDone(p.do(e, w, f)[0], f)
		}
		written := func() bool { return dst.mem.holds(at, pat, v.size) }
		if e.cfg.Transport == fabric.RC || t.settle(written, p.a.owner, p.b.owner) {
			dst.mem.verify(what + ": at the target")
			e.mem.verify(what + ": at the initiator")
			return
		}
	}
	t.Fatalf("%s: %d attempts, and none arrived", what, attempts(e.cfg.Transport))
}

func (p *pair) writeImmOne(e *end, v variant, imm uint32, what string) {
	t, dst := p.t, p.other(e)
	t.Helper()
	pat, from, at := p.next(), t.slot(0), t.slot(1)
	e.mem.write(from, pat, v.size)
	dst.mem.expect(at, pat, v.size)
	r := dst.recvAt(t.slot(2), v.size/2) // is not used, and may be too short
	dst.postRecv(r)
	for range attempts(e.cfg.Transport) {
		w := v.apply(e.writeImmTo(dst.mem.Remote().At(at), from, v.size, imm))
		if v.signaled {
			t.wantDone(p.do(e, w)[0], w)
		} else {
			f := e.fenceWR()
			t.wantDone(p.do(e, w, f)[0], f)
		}
		arrived := func() bool { return len(dst.received) > 0 }
		if e.cfg.Transport == fabric.RC {
			p.await("the receive: "+what, arrived)
		} else if !t.settle(arrived, p.a.owner, p.b.owner) {
			continue
		}
		c := dst.takeReceived(1)[0]
		if c.ID != r.ID || c.Op != fabric.OpRecv || int(c.Bytes) != v.size || !c.HasImm || c.Imm != imm {
			t.Fatalf("%s: receive %#x completed as %+v, want immediate %#x", what, r.ID, c, imm)
		}
		dst.mem.verify(what + ": at the target")
		e.mem.verify(what + ": at the initiator")
		return
	}
	t.Fatalf("%s: %d attempts, and none arrived", what, attempts(e.cfg.Transport))
}

// tooLarge sends a datagram with one byte more than the MTU, which Post refuses.
func tooLarge(t *trial, tr fabric.Transport) {
	p := t.pair(pairConfig{tr: tr, size: t.slots(2)})
	w := p.b.sendFrom(0, p.b.dev.Limits().MTU+1)
	n, err := p.b.qp.Post([]fabric.WR{w})
	t.wantPostError("a datagram of MTU+1 bytes", n, err, 0, fabric.ErrInvalid)
	p.sendOne(p.b, variant{size: t.mtu(), signaled: true}, "a datagram after the one that was refused")
}

// wantPostError checks that Post stopped at index with a PostError.
func (t *trial) wantPostError(what string, n int, err error, index int, target error) {
	t.Helper()
	var pe *fabric.PostError
	if n != index || !errors.As(err, &pe) || pe.Index != index || !errors.Is(err, target) {
		t.Fatalf("%s: Post returned %d, %v; want %d and a PostError at %d that wraps %q", what, n, err, index, index, target)
	}
}

// inlineIsRead changes the source as soon as Post has returned.
func inlineIsRead(t *trial, tr fabric.Transport) {
	p := t.pair(pairConfig{tr: tr, size: 128 << 10})
	size := min(p.b.dev.Limits().MaxInline, t.mtu(), 1024)
	if size == 0 {
		t.Skipf("the device takes no inline data")
	}
	step := size + fabric.GRHSize
	const burst = 16
	for round := range t.times(40) {
		first := p.last + 1
		for i := range burst {
			p.a.postRecv(p.a.recvAt(i*step, size))
		}
		var wrs [burst]fabric.WR
		for i := range wrs {
			// All from the same place, which changes after each post.
			pat := p.next()
			p.b.mem.write(100, pat, size)
			wrs[i] = inline(p.b.sendFrom(100, size))
			if tr != fabric.UD && i%2 == 1 {
				wrs[i] = inline(p.b.writeImmTo(p.a.mem.Remote().At(i*step), 100, size, uint32(i)))
			}
			p.b.post(wrs[i])
			p.b.mem.write(100, guard, size)
		}
		p.sends(p.b, burst)
		got := func() bool { return len(p.a.received) == burst }
		if tr == fabric.RC {
			p.await("all receives", got)
		} else if !t.settle(got, p.a.owner, p.b.owner) {
			p = t.pair(pairConfig{tr: tr, size: 128 << 10}) // some were dropped
			continue
		}
		p.a.takeReceived(burst)
		for i := range burst {
			b := snapshot(p.a.mem.Bytes()[i*step+p.a.headIf(!wrs[i].Op.OneSided()):][:size])
			if want := (first + pattern(i)).bytes(0, size); firstDifference(b, want) >= 0 {
				t.Fatalf("round %d, message %d (%v): %s", round, i, wrs[i].Op, explain(b, want, firstDifference(b, want)))
			}
		}
	}
}

// headIf is head for messages and 0 for what is written.
func (e *end) headIf(message bool) int {
	if message {
		return e.head()
	}
	return 0
}

// refusedOperations posts what the table of operations does not have.
func refusedOperations(t *trial, tr fabric.Transport) {
	p := t.pair(pairConfig{tr: tr})
	for op := range fabric.NumOps + 2 {
		if tr.Allows(op) {
			continue
		}
		w := p.b.writeTo(p.a.mem.Remote(), 0, 8)
		w.Op, w.To = op, p.b.to
		n, err := p.b.qp.Post([]fabric.WR{w})
		t.wantPostError(fmt.Sprintf("%v on %v", op, tr), n, err, 0, fabric.ErrUnsupported)
	}
	if p.b.qp.State() != fabric.StateReady {
		t.Fatalf("a request that was refused broke the queue pair: %v", p.b.qp.Err())
	}
	p.quiet()
	p.a.mem.verify("after refused requests")
}

const ruleImmediate = "The 32 bits of WRITE_IMM arrive in the completion of the receive it consumed, " +
	"with HasImm set and Bytes the length written; the memory of that receive is not touched."

func peerOperationCases() []*testCase {
	cases := peers("G8/first-message", ruleReliable, firstMessage, fabric.RC)
	for _, op := range []fabric.Op{fabric.OpSend, fabric.OpWrite, fabric.OpWriteImm, fabric.OpRead} {
		for _, tr := range []fabric.Transport{fabric.RC, fabric.UC, fabric.UD} {
			if tr.Allows(op) {
				cases = append(cases, peers("G8/sizes/"+lowerName(op), ruleOf(tr), allSizes(op), tr)...)
			}
		}
	}
	return append(cases, join(
		peers("G6/results/fetch-add", ruleOld, atomicResults(fabric.OpFetchAdd), fabric.RC),
		peers("G6/results/cmp-swap", ruleOld, atomicResults(fabric.OpCmpSwap), fabric.RC),
		peers("G19/immediate", ruleImmediate, immediates, fabric.RC, fabric.UC),
		peers("G8/megabyte", ruleReliable, megabytes, fabric.RC),
		peers("G8/megabyte", ruleDrop, megabytes, fabric.UC),
		peers("G18/one-sided", ruleOneSided, oneSided, fabric.RC),
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
// into three parts for messages of at most most bytes.
type transfer struct {
	op                 fabric.Op
	n                  int // bytes
	most               int
	pat                pattern
	imm                uint32
	inline, unsignaled bool
}

func (x transfer) String() string {
	return fmt.Sprintf("%v of %d bytes, inline %v, signaled %v", x.op, x.n, x.inline, !x.unsignaled)
}

// from is where the initiator has its memory, at where the target has. The
// memory of an unsignaled datagram belongs to the device until a later one has
// completed, so it is another.
func (x transfer) from() int {
	if x.unsignaled {
		return 67 + x.most + 131
	}
	return 67
}
func (x transfer) at() int { return 67 + 2*(x.most+131) }

// room is the size of a region for transfers of at most most bytes.
func room(most int) int { return transfer{most: most}.at() + most + fabric.GRHSize + 131 }

// transferWR makes the work request of the initiator.
func (l *conn) transferWR(x transfer) fabric.WR {
	w := l.sendFrom(x.from(), x.n)
	w.Op, w.Imm = x.op, x.imm
	if x.op.OneSided() {
		w.Remote = l.remote.At(x.at())
	}
	if x.inline {
		w = inline(w)
	}
	if x.unsignaled {
		w = unsignaled(w)
	}
	return w
}

// initiate does the operation; the other side serves it.
func (l *conn) initiate(x transfer) {
	p, tr := l.p, l.cfg.Transport
	p.Helper()
	if x.op == fabric.OpRead {
		l.mem.expect(x.from(), x.pat, x.n)
	} else {
		l.mem.write(x.from(), x.pat, x.n)
	}
	p.meet("ready for "+x.String(), l.owner)
	for try := range attempts(tr) {
		w := l.transferWR(x)
		switch {
		case !x.unsignaled || try > 0:
			w.Flags |= fabric.FlagSignaled
			p.wantDone(l.do(w)[0], w)
		case tr == fabric.UD: // the next one tells
			l.post(w)
		default:
			f := l.fenceWR()
			p.wantDone(l.do(w, f)[0], f)
		}
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
func (l *conn) serve(x transfer) {
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
func (l *conn) accepted(x transfer, r fabric.RecvWR) {
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
		if l.cfg.Transport == fabric.UD && c.SrcQPN != l.remoteQPN {
			p.Fatalf("%v: the datagram is from queue pair %d, sent by %d", x, c.SrcQPN, l.remoteQPN)
		}
	}
	l.mem.verify(x.String() + ": at the target")
}

// exchange does the transfers in one direction, then in the other.
func (l *conn) exchange(list []transfer) {
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

func firstMessage(p *peer, tr fabric.Transport) {
	l := p.connect(pairConfig{tr: tr, size: room(64)})
	l.exchange([]transfer{{op: fabric.OpSend, n: 64, most: 64}})
}

// allSizes does one operation with all sizes.
func allSizes(op fabric.Op) func(p *peer, tr fabric.Transport) {
	return func(p *peer, tr fabric.Transport) {
		mtu := p.both.MTU
		most := min(mtu+1, p.both.MaxMessage)
		if tr == fabric.UD {
			most = mtu
		}
		var list []transfer
		for i, n := range []int{0, 1, 7, 8, 63, 64, 65, mtu - 1, mtu, mtu + 1, p.both.MaxInline} {
			if n > most {
				continue
			}
			// At most one unsignaled request is ever outstanding.
			x := transfer{op: op, n: n, most: most, imm: 0x80000000 | uint32(i)}
			y := x
			y.unsignaled = true
			list = append(list, y, x)
			if op != fabric.OpRead && n <= p.both.MaxInline {
				x.inline, y.inline = true, true
				list = append(list, y, x)
			}
		}
		l := p.connect(pairConfig{tr: tr, size: room(most)})
		l.exchange(list)
		if tr == fabric.RC || op == fabric.OpWrite {
			l.wantQuiet()
		}
	}
}

// wantQuiet checks that nothing more completes.
func (l *conn) wantQuiet() {
	l.t.Helper()
	l.t.linger(l.owner)
	if len(l.sent)+len(l.received) != 0 {
		l.t.Fatalf("unexpected completions: sends %+v, receives %+v", l.sent, l.received)
	}
}

// megabytes does all operations with messages of many packets.
func megabytes(p *peer, tr fabric.Transport) {
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

// immediates sends all kinds of immediates with and without data.
func immediates(p *peer, tr fabric.Transport) {
	var list []transfer
	for i, imm := range []uint32{0, 1, 0x12345678, 0xffffffff} {
		list = append(list, transfer{op: fabric.OpWriteImm, n: 33 * i, most: 128, imm: imm})
	}
	p.connect(pairConfig{tr: tr, size: room(128)}).exchange(list)
}

// atomicResults does atomics one by one and compares words on both sides.
func atomicResults(op fabric.Op) func(p *peer, tr fabric.Transport) {
	return func(p *peer, tr fabric.Transport) {
		p.needBothAtomics()
		l := p.connect(pairConfig{tr: tr, size: 4096})
		const rounds, local, at = 24, 64, 1024
		start := func(i int) uint64 { return pattern(7).word(i) }
		operand := func(i int) uint64 {
			if edges := []uint64{0, 1, 0xff, 1 << 32, ^uint64(0), 1 << 63}; i < len(edges) {
				return edges[i]
			}
			return pattern(8).word(i)
		}
		// Every third compare finds another word than it says.
		stale := func(i int) bool { return op == fabric.OpCmpSwap && i%3 == 2 }
		p.turns(func() {
			p.meet("words", l.owner)
			for i := range rounds {
				w := l.fetchAdd(l.remote.At(at+8*i), local+8*i, operand(i))
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

// oneSided has the target's program do nothing at all: it is blocked until
// the initiator says that all is done.
func oneSided(p *peer, tr fabric.Transport) {
	l := p.connect(pairConfig{tr: tr})
	const size = 1000
	rounds := p.times(40)
	p.turns(func() {
		p.meet("the target goes to rest")
		sum := uint64(0)
		for i := range rounds {
			pat := pattern(i + 1)
			l.mem.write(64, pat, size)
			l.do(l.writeTo(l.remote.At(64), 64, size))
			l.do(l.readFrom(l.remote.At(64), 2048, size))
			l.mem.expect(2048, pat, size)
			if p.both.Atomics {
				l.do(l.fetchAdd(l.remote, 0, 3))
				l.mem.expectWord(0, sum)
				l.do(l.cmpSwap(l.remote, 8, sum+3, sum+4))
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

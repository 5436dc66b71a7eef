package fabrictest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/test/scale"
)

const (
	ruleReliable = "On RC an operation that completed with success happened exactly once."
	ruleDrop     = "UC and UD may drop a message whole; they never deliver a part of one, an altered one, or one for somebody else."
	ruleTable    = "Anything else is refused by Post with ErrUnsupported."
	ruleInline   = "A request posted with FlagInline has read its local memory when Post returns."
)

func operationCases() []*testCase {
	return join(
		each("G8/sizes/send", ruleReliable, sizesSend, fabric.RC),
		each("G8/sizes/send", ruleDrop, sizesSend, fabric.UC, fabric.UD),
		each("G8/sizes/write", ruleReliable, sizesWrite, fabric.RC),
		each("G8/sizes/write", ruleDrop, sizesWrite, fabric.UC),
		each("G19/sizes/write-imm", "The 32 bits of WRITE_IMM arrive in the completion of the receive it consumed, "+
			"with HasImm set and Bytes the length written; the memory of that receive is not touched.",
			sizesWriteImm, fabric.RC, fabric.UC),
		each("G8/sizes/read", ruleReliable, sizesRead, fabric.RC),
		each("G8/largest", ruleReliable, largest, fabric.RC, fabric.UC, fabric.UD),
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

// variants are all small sizes of a transport, each unsignaled and then
// signaled, so that at most one unsignaled request is ever outstanding.
func (t *trial) variants(tr fabric.Transport, mayInline bool) []variant {
	mtu := t.mtu()
	sizes := []int{0, 1, 7, 8, 63, 64, 65, mtu - 1, mtu}
	if tr != fabric.UD {
		sizes = append(sizes, mtu+1)
	}
	maxInline := min(t.world.A.Limits().MaxInline, t.world.B.Limits().MaxInline)
	if mayInline && maxInline > 0 && maxInline <= mtu && !slices.Contains(sizes, maxInline) {
		sizes = append(sizes, maxInline)
	}
	var all []variant
	for _, size := range sizes {
		all = append(all, variant{size, false, false}, variant{size, false, true})
		if mayInline && size <= maxInline {
			all = append(all, variant{size, true, false}, variant{size, true, true})
		}
	}
	return all
}

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

func sizesSend(t *trial, tr fabric.Transport) {
	p := t.pair(pairConfig{tr: tr, size: t.slots(2)})
	for _, e := range []*end{p.b, p.a} {
		for _, v := range t.variants(tr, true) {
			p.sendOne(e, v, v.String())
		}
	}
	if tr == fabric.RC {
		p.quiet()
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

func sizesWrite(t *trial, tr fabric.Transport) {
	p := t.pair(pairConfig{tr: tr, size: t.slots(2)})
	for _, e := range []*end{p.b, p.a} {
		for _, v := range t.variants(tr, true) {
			p.writeOne(e, v, v.String())
		}
	}
	p.quiet()
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

func sizesWriteImm(t *trial, tr fabric.Transport) {
	p := t.pair(pairConfig{tr: tr, size: t.slots(3)})
	for _, e := range []*end{p.b, p.a} {
		for i, v := range t.variants(tr, true) {
			p.writeImmOne(e, v, 0x80000000|uint32(i), v.String())
		}
	}
	if tr == fabric.RC {
		p.quiet()
	}
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

func sizesRead(t *trial, tr fabric.Transport) {
	p := t.pair(pairConfig{tr: tr, size: t.slots(2)})
	for _, e := range []*end{p.b, p.a} {
		src := p.other(e)
		for _, v := range t.variants(tr, false) {
			pat, at, to := p.next(), t.slot(1), t.slot(0)
			src.mem.write(at, pat, v.size)
			e.mem.expect(to, pat, v.size)
			w := v.apply(e.readFrom(src.mem.Remote().At(at), to, v.size))
			if v.signaled {
				t.wantDone(p.do(e, w)[0], w)
			} else {
				f := e.fenceWR()
				t.wantDone(p.do(e, w, f)[0], f)
			}
			e.mem.verify(v.String() + ": at the initiator")
			src.mem.verify(v.String() + ": at the target")
		}
	}
	p.quiet()
}

// largest does each operation with a mebibyte, and on datagrams with one byte
// more than the MTU, which Post refuses.
func largest(t *trial, tr fabric.Transport) {
	megabyte := 1 << 20
	if scale.Race {
		megabyte >>= 3 // shared memory is copied by small atomics there
	}
	if tr == fabric.UD {
		p := t.pair(pairConfig{tr: tr, size: t.slots(2)})
		w := p.b.sendFrom(0, p.b.dev.Limits().MTU+1)
		n, err := p.b.qp.Post([]fabric.WR{w})
		t.wantPostError("a datagram of MTU+1 bytes", n, err, 0, fabric.ErrInvalid)
		p.sendOne(p.b, variant{size: t.mtu(), signaled: true}, "a datagram after the one that was refused")
		return
	}
	p := t.pair(pairConfig{tr: tr, size: 2*megabyte + 4096})
	src, at := 33, megabyte+77
	for try := 0; ; try++ {
		pat := p.next()
		p.b.mem.write(src, pat, megabyte)
		p.a.mem.expect(at, pat, megabyte)
		p.do(p.b, p.b.writeTo(p.a.mem.Remote().At(at), src, megabyte))
		if tr == fabric.RC || t.settle(func() bool { return p.a.mem.holds(at, pat, megabyte) }, p.a.owner, p.b.owner) {
			break
		}
		if try == attempts(tr) {
			t.Fatalf("a large WRITE never arrived")
		}
	}
	p.a.mem.verify("large WRITE")
	if tr == fabric.RC {
		pat := p.next()
		p.a.mem.write(src, pat, megabyte)
		p.do(p.b, p.b.readFrom(p.a.mem.Remote().At(src), at, megabyte))
		p.b.mem.expect(at, pat, megabyte)
		p.b.mem.verify("large READ")
	}
	p.a.postRecv(p.a.recvAt(at, megabyte))
	for try := 0; len(p.a.received) == 0; try++ {
		pat := p.next()
		p.b.mem.write(src, pat, megabyte)
		p.a.mem.expect(at, pat, megabyte)
		p.do(p.b, p.b.sendFrom(src, megabyte))
		t.settle(func() bool { return len(p.a.received) != 0 }, p.a.owner, p.b.owner)
		if try == 20*attempts(tr) {
			t.Fatalf("a large SEND never arrived")
		}
	}
	if c := p.recvs(p.a, 1)[0]; int(c.Bytes) != megabyte {
		t.Fatalf("large SEND: received %d bytes", c.Bytes)
	}
	p.a.mem.verify("large SEND")
	p.b.mem.verify("initiator of large operations")
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

package fabrictest

import (
	"errors"
	"fmt"

	"github.com/remora-kv/remora/fabric"
)

const (
	ruleChain = "A post beyond SendDepth or RecvDepth is refused with ErrQueueFull; the part of the chain that fits is posted, " +
		"and Post returns its length."
	ruleIndex = "Those before it in the chain were posted."
)

func chainCases() []*testCase {
	return join(
		each("G1/chains", "The work requests of one queue pair are executed in the order posted, and complete in that order.",
			chainLengths, fabric.RC, fabric.UC),
		each("G12/chain-too-long", ruleChain, chainTooLong, fabric.RC, fabric.UC, fabric.UD),
		each("G12/chain-wrong-inside", ruleIndex, chainWrongInside, fabric.RC, fabric.UC, fabric.UD),
	)
}

// chainLengths posts chains of every length; each request overwrites what the
// one before wrote, and its neighbour.
func chainLengths(t *trial, tr fabric.Transport) {
	const depth, size = 32, 48
	p := t.pair(pairConfig{tr: tr, sendDepth: depth})
	for n := 1; n <= depth; n++ {
		wrs := make([]fabric.WR, n)
		first := p.last + 1
		for i := range wrs {
			pat := p.next()
			p.b.mem.write(i*size, pat, size)
			wrs[i] = p.b.writeTo(p.a.mem.Remote().At(i*8), i*size, size)
			p.a.mem.expect(i*8, pat, size)
		}
		p.b.post(wrs...)
		cs := p.sends(p.b, n)
		for i := range cs {
			t.wantDone(cs[i], wrs[i])
		}
		if tr == fabric.RC {
			p.a.mem.verify(fmt.Sprintf("chain of %d", n))
			continue
		}
		// UC may have dropped any of them: what is there came from some of them.
		last := first + pattern(n-1)
		t.settle(func() bool { return p.a.mem.holds((n-1)*8, last, size) }, p.a.owner, p.b.owner)
		p.a.mem.ignore(0, depth*8+size)
		p.a.mem.verify(fmt.Sprintf("around a chain of %d", n))
	}
	if n, err := p.b.qp.Post(nil); n != 0 || err != nil {
		t.Errorf("Post of nothing returned %d, %v", n, err)
	}
	if n, err := p.b.qp.PostRecv(nil); n != 0 || err != nil {
		t.Errorf("PostRecv of nothing returned %d, %v", n, err)
	}
	p.quiet()
}

// numbered makes n requests that each leave a mark at the receiver: a SEND of
// its number.
func (p *pair) numbered(n int) []fabric.WR {
	wrs := make([]fabric.WR, n)
	for i := range wrs {
		pat := p.next()
		p.b.mem.write(i*16, pat, 16)
		wrs[i] = p.b.sendFrom(i*16, 16)
	}
	return wrs
}

// exactly checks that the messages of first, first+1, ... and no others
// arrived in order. Where messages may be dropped, those that arrived must be
// in order.
func (p *pair) exactly(n int, first pattern) {
	t := p.t
	t.Helper()
	all := func() bool { return len(p.a.received) >= n }
	if p.a.cfg.Transport == fabric.RC {
		p.await(fmt.Sprintf("%d messages", n), all)
		t.linger(p.a.owner, p.b.owner)
	} else {
		t.settle(all, p.a.owner, p.b.owner)
	}
	if len(p.a.received) > n {
		t.Fatalf("%d messages arrived, %d were posted", len(p.a.received), n)
	}
	step, next := p.a.head()+16, 0
	for i, c := range p.a.takeReceived(len(p.a.received)) {
		got := snapshot(p.a.mem.Bytes()[i*step+p.a.head():][:16])
		for ; ; next++ {
			if next == n || (p.a.cfg.Transport == fabric.RC && next > i) {
				t.Fatalf("receive %d (%+v) holds %x%s, which was not sent or not in this order", i, c, got, origin(got, 0))
			}
			if (first + pattern(next)).match(got, 0) {
				next++
				break
			}
		}
	}
}

func chainTooLong(t *trial, tr fabric.Transport) {
	const depth = 16
	for _, before := range []int{0, 1, depth - 1, depth} {
		p := t.pair(pairConfig{tr: tr, sendDepth: depth, recvDepth: 2 * depth})
		for i := range 2 * depth {
			p.a.postRecv(p.a.recvAt(i*(p.a.head()+16), 16))
		}
		wrs := p.numbered(depth + 5)
		if before > 0 {
			p.b.post(wrs[:before]...)
		}
		n, err := p.b.qp.Post(wrs[before:])
		if n != depth-before || !errors.Is(err, fabric.ErrQueueFull) {
			t.Fatalf("with %d of %d posted, a chain of %d: Post returned %d, %v", before, depth, depth+5-before, n, err)
		}
		cs := p.sends(p.b, depth)
		for i := range cs {
			t.wantDone(cs[i], wrs[i])
		}
		p.exactly(depth, 1)
		if s := p.b.qp.State(); s != fabric.StateReady {
			t.Fatalf("a full queue broke the queue pair: %v", p.b.qp.Err())
		}
		p.quiet()
	}
}

// chainWrongInside has one wrong request in a chain: those before it run, it
// and those after do not.
func chainWrongInside(t *trial, tr fabric.Transport) {
	const length = 8
	size := max(64<<10, t.slots(2))
	count := len(t.pair(pairConfig{tr: tr, size: size}).mistakes())
	for i := range count {
		bad := []int{0, 1, length / 2, length - 1}[i%4]
		p := t.pair(pairConfig{tr: tr, size: size})
		m := p.mistakes()[i]
		for k := range length {
			p.a.postRecv(p.a.recvAt(k*(p.a.head()+16), 16))
		}
		wrs := p.numbered(length)
		wrs[bad] = m.wr
		n, err := p.b.qp.Post(wrs)
		t.wantPostError(m.what, n, err, bad, fabric.ErrInvalid)
		for k, c := range p.sends(p.b, bad) {
			t.wantDone(c, wrs[k])
		}
		p.exactly(bad, 1)
		p.quiet()
		p.b.post(p.b.sendFrom(0, 16))
		p.sends(p.b, 1)
	}
}

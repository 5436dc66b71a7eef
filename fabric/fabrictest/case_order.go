package fabrictest

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/remora-kv/remora/fabric"
)

const (
	ruleOrder = "The work requests of one queue pair are executed in the order posted, and complete in that order."
	ruleRecvs = "Receives complete in the order they were posted."
	ruleRAW   = "A READ sees every earlier WRITE of its queue pair. It sees no byte of one that was posted after its completion, " +
		"nor, where Limits.InOrder is set, of any later one."
)

func orderCases() []*testCase {
	return join(
		each("G1/mixed-operations", ruleOrder, mixedOrder, fabric.RC),
		each("G1/receives", ruleRecvs, receiveOrder, fabric.RC, fabric.UC),
		each("G1/many-reads", ruleOrder, manyReads, fabric.RC),
		each("G1/blocked-send", ruleOrder, blockedSend, fabric.RC),
		each("G4/read-after-write", ruleRAW, readAfterWrite, fabric.RC),
		each("G4/write-after-read", ruleRAW, writeAfterRead, fabric.RC),
		each("G4/overlap", ruleRAW, overlapping, fabric.RC),
	)
}

// mixedOrder posts random chains of all operations. The state of the target
// after each chain and the order of completions must be those of executing
// the chain one by one.
func mixedOrder(t *trial, tr fabric.Transport) {
	const depth, area, inbox = 32, 512, 1024
	p := t.pair(pairConfig{tr: tr, sendDepth: depth, recvDepth: depth})
	rng := t.random(0)
	atomics := p.b.dev.Limits().Atomics
	for round := range t.times(300) {
		var signaledWRs []fabric.WR
		var recvWant []uint32 // length or immediate of each receive, in order
		n := 1 + rng.IntN(depth-1)
		for i := range n {
			p.a.postRecv(p.a.recvAt(inbox+i*64, 64))
		}
		for i := range n {
			w, recv := p.randomOp(rng, i, area, atomics)
			if w.Op == fabric.OpSend {
				p.a.mem.expectBytes(inbox+len(recvWant)*64, p.b.mem.want[w.Local.Off:][:w.Local.Len])
			}
			if recv {
				recvWant = append(recvWant, w.Imm)
			}
			if rng.IntN(2) == 0 {
				w = unsignaled(w)
			} else {
				signaledWRs = append(signaledWRs, w)
			}
			p.b.post(w)
		}
		f := p.b.fenceWR()
		p.b.post(f)
		signaledWRs = append(signaledWRs, f)
		cs := p.sends(p.b, len(signaledWRs))
		for i := range cs {
			t.wantDone(cs[i], signaledWRs[i])
		}
		for i, c := range p.recvs(p.a, len(recvWant)) {
			if c.HasImm != (recvWant[i] != 0) || (c.HasImm && c.Imm != recvWant[i]) {
				t.Fatalf("round %d: receive %d completed as %+v, want immediate %#x", round, i, c, recvWant[i])
			}
		}
		what := fmt.Sprintf("round %d, %d requests", round, n)
		p.a.mem.verify(what + ": the target")
		p.b.mem.verify(what + ": the initiator")
		// The receives that were not consumed: end them with messages.
		for range n - len(recvWant) {
			p.do(p.b, p.b.sendFrom(0, 0))
		}
		p.recvs(p.a, n-len(recvWant))
	}
}

// randomOp makes a request on the first area bytes of the target, and enters
// its effect into the expectations.
func (p *pair) randomOp(rng *rand.Rand, i, area int, atomics bool) (w fabric.WR, recv bool) {
	t := p.t
	src, size, at := 4096+i*64, 1+rng.IntN(64), rng.IntN(area-64)
	to := p.a.mem.Remote().At(at)
	kind := rng.IntN(6)
	if kind >= 4 && !atomics {
		kind = 3
	}
	if kind == 3 && !t.inOrder() {
		kind = 0 // what is posted behind a READ may change what it sees (G4)
	}
	switch kind {
	case 0:
		p.b.mem.write(src, p.next(), size)
		w = p.b.writeTo(to, src, size)
		p.a.mem.expectBytes(at, p.b.mem.want[src:src+size])
	case 1:
		p.b.mem.write(src, p.next(), size)
		w = p.b.writeImmTo(to, src, size, 1+rng.Uint32N(1<<31))
		p.a.mem.expectBytes(at, p.b.mem.want[src:src+size])
		recv = true
	case 2:
		p.b.mem.write(src, p.next(), size)
		w = p.b.sendFrom(src, size)
		recv = true
	case 3:
		w = p.b.readFrom(to, src, size)
		p.b.mem.expectBytes(src, p.a.mem.want[at:at+size])
	default:
		at &^= 7
		old := binary.NativeEndian.Uint64(p.a.mem.want[at:])
		w = p.b.fetchAdd(p.a.mem.Remote().At(at), src, rng.Uint64())
		change := old + w.Operand
		if kind == 5 {
			w.Op, w.Compare = fabric.OpCmpSwap, old
			change = w.Operand
			if rng.IntN(2) == 0 {
				w.Compare++
				change = old
			}
		}
		p.b.mem.expectWord(src, old)
		p.a.mem.expectWord(at, change)
	}
	if w.Op == fabric.OpWrite && size <= p.b.dev.Limits().MaxInline && rng.IntN(2) == 0 {
		w = inline(w)
	}
	t.check()
	return w, recv
}

// receiveOrder sends messages of changing sizes in bursts; the IDs of the
// receives come back in the order they were posted.
func receiveOrder(t *trial, tr fabric.Transport) {
	const depth = 64
	p := t.pair(pairConfig{tr: tr, sendDepth: depth, recvDepth: depth, size: 256 << 10})
	rng := t.random(0)
	for round := range t.times(60) {
		ids := make([]uint64, depth)
		for i := range ids {
			r := p.a.recvAt(i*2048, 2048)
			ids[i] = r.ID
			p.a.postRecv(r)
		}
		sizes := make([]int, depth)
		for i := range sizes {
			sizes[i] = rng.IntN(2048)
			p.b.post(p.b.sendFrom(0, sizes[i]))
		}
		p.sends(p.b, depth)
		all := func() bool { return len(p.a.received) == depth }
		if tr == fabric.RC {
			p.await("all messages", all)
		} else {
			t.settle(all, p.a.owner, p.b.owner)
		}
		lost := depth - len(p.a.received)
		for i, c := range p.a.takeReceived(depth - lost) {
			if c.ID != ids[i] || (lost == 0 && int(c.Bytes) != sizes[i]) {
				t.Fatalf("round %d: completion %d is of receive %#x with %d bytes, want %#x with %d",
					round, i, c.ID, c.Bytes, ids[i], sizes[i])
			}
		}
		if lost != 0 {
			p = t.pair(pairConfig{tr: tr, sendDepth: depth, recvDepth: depth, size: 256 << 10})
		}
	}
}

// manyReads has more READs outstanding than the device has in flight.
func manyReads(t *trial, tr fabric.Transport) {
	lim := t.world.B.Limits()
	depth := min(256, 3*min(lim.MaxReads, 256)+1, lim.MaxDepth)
	p := t.pair(pairConfig{tr: tr, sendDepth: depth, size: 64 << 10})
	pat := p.next()
	p.a.mem.write(0, pat, p.a.mem.Len())
	size := p.b.mem.Len() / depth &^ 7
	for round := range t.times(20) {
		wrs := make([]fabric.WR, depth)
		for i := range wrs {
			wrs[i] = p.b.readFrom(p.a.mem.Remote().At(i*size), i*size, size)
			p.b.mem.expectBytes(i*size, pat.bytes(i*size, size))
		}
		p.b.post(wrs...)
		for i, c := range p.sends(p.b, depth) {
			t.wantDone(c, wrs[i])
		}
		p.b.mem.verify(fmt.Sprintf("round %d of %d READs", round, depth))
		p.b.mem.reset()
	}
}

// blockedSend has a SEND wait for its receive: nothing behind it may run.
func blockedSend(t *trial, tr fabric.Transport) {
	p := t.pair(pairConfig{tr: tr})
	for round := range t.times(20) {
		pat := p.next()
		p.b.mem.write(0, pat, 64)
		send := p.b.sendFrom(0, 64)
		write := p.b.writeTo(p.a.mem.Remote().At(256), 0, 64)
		read := p.b.readFrom(p.a.mem.Remote().At(512), 1024, 64)
		p.b.post(send, write, read)
		p.quiet()
		p.a.mem.verify(fmt.Sprintf("round %d: WRITE behind a SEND that waits", round))
		change := p.next()
		p.a.mem.write(512, change, 64)
		p.a.postRecv(p.a.recvAt(0, 64))
		cs := p.sends(p.b, 3)
		t.wantDone(cs[0], send)
		t.wantDone(cs[1], write)
		t.wantDone(cs[2], read)
		p.recvs(p.a, 1)
		p.a.mem.expect(0, pat, 64)
		p.a.mem.expect(256, pat, 64)
		p.b.mem.expect(1024, change, 64)
		p.a.mem.verify("the target at last")
		p.b.mem.verify("the initiator at last")
	}
}

var orderSizes = []int{1, 7, 8, 64, 65, 1000, 4096, 10000, 64 << 10, 200 << 10}

// readAfterWrite posts WRITE, READ, WRITE, READ, ... of one place in a chain:
// each READ sees the WRITE before it and not the one after. Where that takes order, each pair
// is a chain.
func readAfterWrite(t *trial, tr fabric.Transport) {
	for _, size := range orderSizes {
		rounds := min(8, 1<<20/size)
		p := t.pair(pairConfig{tr: tr, size: (2*rounds + 1) * (size + 64)})
		for range t.times(4) {
			var wrs []fabric.WR
			at := p.a.mem.Remote().At(13)
			for i := range rounds {
				src, dst := 2*i*(size+64), (2*i+1)*(size+64)
				pat := p.next()
				p.b.mem.write(src, pat, size)
				p.b.mem.expect(dst, pat, size)
				p.a.mem.expect(13, pat, size)
				wrs = append(wrs, unsignaled(p.b.writeTo(at, src, size)), p.b.readFrom(at, dst, size))
			}
			chain := len(wrs)
			if !t.inOrder() {
				chain = 2
			}
			for part := range slices.Chunk(wrs, chain) {
				p.do(p.b, part...)
			}
			p.b.mem.verify(fmt.Sprintf("READs of %d bytes between WRITEs", size))
			p.a.mem.verify("the target")
		}
	}
}

// writeAfterRead posts READ, then WRITE of the same place: the READ sees the
// old bytes only.
func writeAfterRead(t *trial, tr fabric.Transport) {
	t.needOrder()
	for _, size := range orderSizes {
		p := t.pair(pairConfig{tr: tr, size: 3*size + 256})
		for range t.times(10) {
			before, after := p.next(), p.next()
			src, dst, at := 3, size+70, 21
			p.a.mem.write(at, before, size)
			p.b.mem.write(src, after, size)
			p.do(p.b,
				unsignaled(p.b.readFrom(p.a.mem.Remote().At(at), dst, size)),
				p.b.writeTo(p.a.mem.Remote().At(at), src, size))
			p.b.mem.expect(dst, before, size)
			p.a.mem.expect(at, after, size)
			p.b.mem.verify(fmt.Sprintf("READ of %d bytes before a WRITE", size))
			p.a.mem.verify("the target")
		}
	}
}

// overlapping reads and writes at random in a small area, in long chains.
func overlapping(t *trial, tr fabric.Transport) {
	t.needOrder()
	const area, depth, most = 3000, 64, 1024
	p := t.pair(pairConfig{tr: tr, sendDepth: depth, size: 8192 + depth*most})
	rng := t.random(0)
	for round := range t.times(60) {
		var wrs []fabric.WR
		for i := range depth {
			size := 1 + rng.IntN(most)
			at, local := rng.IntN(area-size), 8192+i*most
			if rng.IntN(2) == 0 {
				p.b.mem.write(local, p.next(), size)
				p.a.mem.expectBytes(at, p.b.mem.want[local:local+size])
				wrs = append(wrs, unsignaled(p.b.writeTo(p.a.mem.Remote().At(at), local, size)))
			} else {
				p.b.mem.expectBytes(local, p.a.mem.want[at:at+size])
				wrs = append(wrs, unsignaled(p.b.readFrom(p.a.mem.Remote().At(at), local, size)))
			}
		}
		wrs[depth-1].Flags |= fabric.FlagSignaled
		p.do(p.b, wrs...)
		p.b.mem.verify(fmt.Sprintf("round %d: READs", round))
		p.a.mem.verify(fmt.Sprintf("round %d: WRITEs", round))
	}
}

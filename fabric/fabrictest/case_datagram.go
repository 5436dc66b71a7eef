package fabrictest

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
)

const (
	ruleHeader = "A received datagram begins behind GRHSize bytes of header in its buffer, and Completion.Bytes includes them."
	ruleSource = "SrcQPN is the sender's queue pair of a received datagram."
	ruleHandle = "NewAddressHandle makes addr, as QP.Address returned it at the peer, a destination for datagrams of this domain."
)

func datagramCases() []*testCase {
	cases := join(
		one("G16/header", ruleHeader, datagramHeader),
		one("G16/address", "Address returns what a peer gives to NewAddressHandle to reach this datagram queue pair; at most 128 bytes.", datagramAddress),
		one("G16/many-senders", ruleSource, manySenders),
		one("G16/one-to-many", ruleHandle, oneToMany),
		one("G16/closed-receiver", ruleDrop, closedReceiver),
		one("G16/garbage-address", ruleHandle, garbageAddress),
		one("G16/dead-address", ruleHandle, deadAddress),
		one("G16/disconnect", "Destruction is in two phases: Disconnect from anywhere, then Close by the owner.", datagramDisconnect),
		one("G16/burst", ruleDrop, datagramBurst),
	)
	for _, c := range cases {
		run := c.run
		c.run = func(t *trial) {
			t.need(fabric.UD)
			run(t)
		}
	}
	return cases
}

// datagramHeader receives into split buffers: the header alone, then the
// message, as a server would.
func datagramHeader(t *trial) {
	p := t.pair(pairConfig{tr: fabric.UD})
	for _, size := range []int{0, 1, 40, 41, 100} {
		for _, split := range []int{0, 1, 39, 40, 41} {
			if split > fabric.GRHSize+size {
				continue
			}
			r := fabric.RecvWR{ID: p.a.id(), Local: p.a.mem.Seg(100, split)}
			r.More = []fabric.Seg{p.a.mem.Seg(1000, fabric.GRHSize+size-split)}
			p.a.postRecv(r)
			pat := p.next()
			p.b.mem.write(0, pat, size)
			p.arrive(func() { p.do(p.b, p.b.sendFrom(0, size)) })
			c := p.a.takeReceived(1)[0]
			if c.ID != r.ID || int(c.Bytes) != fabric.GRHSize+size || c.SrcQPN != p.b.qp.Num() {
				t.Fatalf("datagram of %d bytes completed as %+v", size, c)
			}
			p.a.mem.scatter([]fabric.Seg{r.Local, r.More[0]},
				append(p.headerIn([]fabric.Seg{r.Local, r.More[0]}), pat.bytes(0, size)...))
			p.a.mem.verify(fmt.Sprintf("datagram of %d bytes, %d of the buffer in front", size, split))
		}
	}
}

// arrive sends until a has received something.
func (p *pair) arrive(send func()) {
	p.t.Helper()
	for range attempts(fabric.UD) {
		send()
		if p.t.settle(func() bool { return len(p.a.received) > 0 }, p.a.owner, p.b.owner) {
			return
		}
	}
	p.t.Fatalf("%d attempts, and none arrived", attempts(fabric.UD))
}

func datagramAddress(t *trial) {
	p := t.pair(pairConfig{tr: fabric.UD, size: t.slots(2)})
	for _, e := range []*end{p.a, p.b} {
		if n := len(e.qp.Address()); n == 0 || n > 128 {
			t.Fatalf("address of %d bytes", n)
		}
		if e.qp.PeerPrivate() != nil || e.qp.Peer() != (fabric.Peer{}) {
			t.Fatalf("a datagram queue pair has a peer: %+v", e.qp.Peer())
		}
	}
	// Handles can be made and closed while others of the same address work.
	for i := range 20 {
		h, err := p.b.dom.NewAddressHandle(t.ctx(), p.a.qp.Address())
		t.must("NewAddressHandle", err)
		old := p.b.to
		p.b.to = h
		p.sendOne(p.b, variant{size: i, signaled: true}, "a datagram by a second handle")
		p.b.to = old
		t.must("AddressHandle.Close", h.Close())
		p.sendOne(p.b, variant{size: i, signaled: true}, "a datagram by the first handle")
	}
}

// sequenced is a datagram that names its sender and number and fills the rest
// with a pattern of both.
func sequenced(b []byte, sender, seq int) {
	binary.LittleEndian.PutUint32(b, uint32(sender))
	binary.LittleEndian.PutUint32(b[4:], uint32(seq))
	pattern(sender*1000+seq%1000).fill(b[8:], 0)
}

// unsequenced reads it back; ok is false when it is not whole.
func unsequenced(b []byte) (sender, seq int, ok bool) {
	if len(b) < 8 {
		return 0, 0, false
	}
	sender, seq = int(binary.LittleEndian.Uint32(b)), int(binary.LittleEndian.Uint32(b[4:]))
	return sender, seq, pattern(sender*1000+seq%1000).match(b[8:], 0)
}

// manySenders has many queue pairs, in goroutines of their own, send to one.
func manySenders(t *trial) {
	const senders, depth, size = 8, 64, 200
	pc := pairConfig{tr: fabric.UD, recvDepth: depth, size: 64 << 10}.withDefaults()
	oa := t.owner(t.world.A, t.domain(t.world.A), 256, false)
	rx := t.datagram(oa, pc, t.mem(oa.dom, pc.size, 0))
	each := t.times(200)
	step := fabric.GRHSize + size
	for i := range depth {
		rx.postRecv(fabric.RecvWR{ID: uint64(i), Local: rx.mem.Seg(i*step, step)})
	}
	c := t.crew()
	var finished atomic.Int32
	numbers := map[uint32]int{}
	for s := range senders {
		ob := t.owner(t.world.B, t.domain(t.world.B), 128, false)
		tx := t.datagram(ob, pc, t.mem(ob.dom, pc.size, 0))
		tx.to = t.handle(ob, rx.qp.Address())
		numbers[tx.qp.Num()] = s
		c.run(func() {
			for seq := range each {
				sequenced(tx.mem.Bytes()[:size], s, seq)
				tx.post(tx.sendFrom(0, size))
				tx.wait1("a datagram to leave")
			}
			finished.Add(1)
		})
	}
	got, lastSeq := 0, [senders]int{}
	take := func() bool {
		for _, comp := range rx.received {
			place := rx.mem.Bytes()[int(comp.ID)*step:][:step]
			sender, seq, ok := unsequenced(snapshot(place[fabric.GRHSize:]))
			if !ok || comp.Status != fabric.StatusOK || int(comp.Bytes) != step || numbers[comp.SrcQPN] != sender {
				t.Fatalf("datagram %d of sender %d (whole: %v) completed as %+v", seq, sender, ok, comp)
			}
			if seq+1 <= lastSeq[sender] {
				t.Fatalf("sender %d: datagram %d after %d", sender, seq, lastSeq[sender]-1)
			}
			lastSeq[sender] = seq + 1
			got++
			rx.postRecv(fabric.RecvWR{ID: comp.ID, Local: rx.mem.Seg(int(comp.ID)*step, step)})
		}
		rx.received = nil
		return got == senders*each
	}
	t.await("the senders", func() bool { return take() || finished.Load() == senders }, oa)
	t.settle(take, oa) // what is still in flight
	c.join()
	if got < senders {
		t.Fatalf("%d of %d datagrams arrived", got, senders*each)
	}
	t.Logf("%d of %d datagrams arrived", got, senders*each)
}

// oneToMany sends from one queue pair to many.
func oneToMany(t *trial) {
	const n = 12
	pc := pairConfig{tr: fabric.UD, size: 4096}.withDefaults()
	oa := t.owner(t.world.A, t.domain(t.world.A), 128*n, false)
	ob := t.owner(t.world.B, t.domain(t.world.B), 128, false)
	tx := t.datagram(ob, pc, t.mem(ob.dom, pc.size, 0))
	var rx []*end
	var to []fabric.AddressHandle
	for range n {
		e := t.datagram(oa, pc, t.mem(oa.dom, pc.size, 0))
		rx = append(rx, e)
		to = append(to, t.handle(ob, e.qp.Address()))
	}
	rng := t.random(0)
	for i := range t.times(300) {
		k := rng.IntN(n)
		tx.to = to[k]
		p := &pair{t: t, a: rx[k], b: tx}
		rx[k].postRecv(rx[k].recvAt(0, 64))
		p.arrive(func() {
			sequenced(tx.mem.Bytes()[:64], k, i)
			p.do(tx, tx.sendFrom(0, 64))
		})
		rx[k].takeReceived(1)
		sender, seq, ok := unsequenced(snapshot(rx[k].mem.Bytes()[fabric.GRHSize:][:64]))
		if !ok || sender != k || seq != i {
			t.Fatalf("receiver %d got datagram %d for %d, whole: %v; want %d", k, seq, sender, ok, i)
		}
		for j, e := range rx {
			if j != k && len(e.received) != 0 {
				t.Fatalf("a datagram for receiver %d arrived at %d", k, j)
			}
		}
	}
}

// closedReceiver sends to a queue pair that was closed.
func closedReceiver(t *trial) {
	p := t.pair(pairConfig{tr: fabric.UD, size: t.slots(2)})
	p.sendOne(p.b, variant{size: 20, signaled: true}, "a datagram before")
	t.must("Close", p.a.qp.Close())
	for range 500 {
		p.b.post(p.b.sendFrom(0, 64))
		p.b.wait1("a datagram to a closed queue pair")
	}
	if s := p.b.qp.State(); s != fabric.StateReady {
		t.Fatalf("a datagram queue pair broke because another was closed: %v", p.b.qp.Err())
	}
	// It goes on with others.
	other := t.datagram(t.owner(p.a.dev, p.a.dom, 128, false), pairConfig{tr: fabric.UD}.withDefaults(), p.a.mem)
	p.b.to = t.handle(p.b.owner, other.qp.Address())
	q := &pair{t: t, a: other, b: p.b, last: 100}
	q.sendOne(p.b, variant{size: 20, signaled: true}, "a datagram to another queue pair")
}

// garbageAddress makes handles of bytes that no queue pair returned.
func garbageAddress(t *trial) {
	p := t.pair(pairConfig{tr: fabric.UD, size: t.slots(2)})
	good := p.a.qp.Address()
	rng := t.random(0)
	random := make([]byte, len(good))
	for i := range random {
		random[i] = byte(rng.Uint32())
	}
	for _, bad := range [][]byte{
		nil,
		{},
		{0},
		[]byte("garbage"), random, make([]byte, len(good)), make([]byte, 128), make([]byte, 4096),
		good[:len(good)-1], good[:len(good)/2], append(append([]byte(nil), good...), 0),
	} {
		h, err := p.b.dom.NewAddressHandle(t.ctx(), bad)
		if err == nil {
			_ = h.Close()
			t.Errorf("%d bytes of garbage, %x, are an address; a good one is %x", len(bad), bad[:min(len(bad), 128)], good)
		}
	}
	// What cannot be told from an address must do no harm.
	for i := range good {
		changed := append([]byte(nil), good...)
		changed[i] ^= 0x40
		if h, err := p.b.dom.NewAddressHandle(t.ctx(), changed); err == nil {
			w := p.b.sendFrom(0, 16)
			w.To = h
			p.do(p.b, w)
			t.must("AddressHandle.Close", h.Close())
		}
	}
	t.linger(p.a.owner, p.b.owner)
	p.a.received = nil
	p.sendOne(p.b, variant{size: 8, signaled: true}, "a datagram after garbage")
}

// deadAddress uses the address of a queue pair that is gone: an error, or a
// handle whose datagrams are dropped.
func deadAddress(t *trial) {
	p := t.pair(pairConfig{tr: fabric.UD})
	addr := p.a.qp.Address()
	t.must("Close", p.a.qp.Close())
	// The next queue pair may get the number of the one before; datagrams for
	// the former must not reach it, but no provider can promise that forever.
	h, err := p.b.dom.NewAddressHandle(t.ctx(), addr)
	if err != nil {
		return
	}
	for range 20 {
		w := p.b.sendFrom(0, 16)
		w.To = h
		p.b.post(w)
		p.b.wait1("a datagram to a dead address")
	}
	t.must("AddressHandle.Close", h.Close())
	t.must("Err", p.b.qp.Err())
}

func datagramDisconnect(t *trial) {
	const n = 5
	p := t.pair(pairConfig{tr: fabric.UD})
	for range n {
		p.a.postRecv(p.a.recvAt(0, 64))
	}
	c := t.crew()
	c.run(func() { t.must("Disconnect", p.a.qp.Disconnect()) })
	c.join()
	t.await("flushes", func() bool { return len(p.a.received) == n }, p.a.owner)
	p.a.wantFlushed()
	p.a.wantBroken(fabric.ErrClosed, fabric.ErrDisconnected)
	if s := p.b.qp.State(); s != fabric.StateReady {
		t.Fatalf("a datagram queue pair broke with another: %v", p.b.qp.Err())
	}
}

// datagramBurst sends far more than there are receives: what arrives is whole
// and in order, and the receiver goes on.
func datagramBurst(t *trial) {
	const depth, size = 16, 100
	p := t.pair(pairConfig{tr: fabric.UD, sendDepth: 128, recvDepth: depth})
	step := fabric.GRHSize + size
	next := 0
	for round := range t.times(20) {
		for i := range depth {
			p.a.postRecv(fabric.RecvWR{ID: uint64(i), Local: p.a.mem.Seg(i*step, step)})
		}
		const burst = 100
		for i := range burst {
			sequenced(p.b.mem.Bytes()[i*size:][:size], 1, next+i)
			p.b.post(p.b.sendFrom(i*size, size))
		}
		p.sends(p.b, burst)
		t.settle(func() bool { return len(p.a.received) == depth }, p.a.owner, p.b.owner)
		last := next - 1
		for _, c := range p.a.takeReceived(len(p.a.received)) {
			_, seq, ok := unsequenced(snapshot(p.a.mem.Bytes()[int(c.ID)*step+fabric.GRHSize:][:size]))
			if !ok || seq <= last || seq >= next+burst {
				t.Fatalf("round %d: datagram %d after %d, whole: %v", round, seq, last, ok)
			}
			last = seq
		}
		next += burst
		t.must("Err of the receiver", p.a.qp.Err())
		// Receives that are left over would be in the way.
		p = t.pair(pairConfig{tr: fabric.UD, sendDepth: 128, recvDepth: depth})
	}
}

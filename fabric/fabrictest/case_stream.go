package fabrictest

import (
	"encoding/binary"

	"github.com/remora-kv/remora/fabric"
)

func streamCases() []*testCase {
	return join(
		each("G8/stream", ruleReliable, stream, fabric.RC),
		each("G8/stream-large", ruleReliable, streamLarge, fabric.RC),
		each("G8/side-by-side", ruleReliable, sideBySide, fabric.RC),
	)
}

// stream sends numbered messages of all sizes in both directions at once.
func stream(t *trial, tr fabric.Transport) {
	p := t.pair(pairConfig{tr: tr, size: 1 << 20, split: true})
	n := t.times(6000)
	c := t.crew()
	c.run(func() { p.streamEnd(p.a, n, 3000, 16, t.seed) })
	c.run(func() { p.streamEnd(p.b, n, 3000, 16, t.seed+1) })
	c.join()
}

// streamLarge has few places and messages larger than any buffer in between.
func streamLarge(t *trial, tr fabric.Transport) {
	p := t.pair(pairConfig{tr: tr, size: 4 << 20, sendDepth: 4, recvDepth: 4})
	n := t.times(60)
	c := t.crew()
	c.run(func() { p.streamEnd(p.a, n, 400_000, 4, t.seed) })
	c.run(func() { p.streamEnd(p.b, n, 400_000, 4, t.seed+1) })
	c.join()
}

// streamEnd sends n messages of 8 to most bytes and receives as many, with
// slots places for each, and waits as a program would.
func (p *pair) streamEnd(e *end, n, most, slots int, seed uint64) {
	t, rng := p.t, p.t.random(int(seed&0xffff))
	sendAt := func(i int) int { return i % slots * most }
	recvAt := func(i int) int { return (slots + i%slots) * most }
	sent, acked, posted, got := 0, 0, 0, 0
	waiter := t.sleeper(e.owner, fabric.WaitConfig{Spin: fabric.DefaultSpin})
	for sent < n || acked < n || got < n {
		t.check()
		for ; posted < n && posted-got < slots; posted++ {
			e.postRecv(fabric.RecvWR{ID: uint64(posted), Local: e.mem.Seg(recvAt(posted), most)})
		}
		for ; sent < n && sent-acked < slots; sent++ {
			size := 8 + rng.IntN(most-7)
			b := e.mem.Bytes()[sendAt(sent):][:size]
			binary.LittleEndian.PutUint64(b, uint64(sent))
			pattern(sent+1).fill(b[8:], 0)
			e.post(fabric.WR{ID: uint64(sent), Op: fabric.OpSend, Local: e.mem.Seg(sendAt(sent), size), Flags: fabric.FlagSignaled})
		}
		waiter.until("progress", func() bool { return len(e.sent)+len(e.received) > 0 })
		for _, c := range e.takeSent(len(e.sent)) {
			if c.ID != uint64(acked) {
				t.Fatalf("send %d completed, want %d", c.ID, acked)
			}
			acked++
		}
		for _, c := range e.takeReceived(len(e.received)) {
			b := e.mem.Bytes()[recvAt(got):][:c.Bytes]
			if c.ID != uint64(got) || c.Bytes < 8 || binary.LittleEndian.Uint64(b) != uint64(got) {
				t.Fatalf("receive %d holds message %x: lost, doubled or out of order; completion %+v", got, b[:min(8, len(b))], c)
			}
			if want := pattern(got+1).bytes(0, len(b)-8); firstDifference(b[8:], want) >= 0 {
				t.Fatalf("message %d: %s", got, explain(b[8:], want, firstDifference(b[8:], want)))
			}
			got++
		}
	}
}

// sideBySide has many connections between the same devices, each with an
// owner and patterns of its own: nothing of one appears at another.
func sideBySide(t *trial, tr fabric.Transport) {
	const n = 6
	c := t.crew()
	for i := range n {
		p := t.pair(pairConfig{tr: tr, size: t.slots(3)})
		p.last = pattern(100_000 * (i + 1))
		c.run(func() { // owns both ends
			rng := t.random(i)
			for range t.times(150) {
				v := variant{size: rng.IntN(t.maxSmall()), signaled: true}
				e := []*end{p.a, p.b}[rng.IntN(2)]
				switch rng.IntN(3) {
				case 0:
					p.sendOne(e, v, "a message beside others")
				case 1:
					p.writeOne(e, v, "a WRITE beside others")
				default:
					p.writeImmOne(e, v, uint32(p.last), "a WRITE_IMM beside others")
				}
			}
		})
	}
	c.join()
}

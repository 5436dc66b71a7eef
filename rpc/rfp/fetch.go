package rfp

import (
	"encoding/binary"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/rpc/wire"
)

// fetch posts READs for the answers that come next, when it is time.
func (c *Conn) fetch() {
	if c.flying+c.restFlying != 0 || !c.due() {
		return
	}
	c.policy.reading()
	n := min(c.policy.ahead, int(c.number-1-c.answered), c.rings.results)
	for i := range n {
		slot := c.slot + i
		if slot >= c.rings.results {
			slot -= c.rings.results
		}
		c.wanted[slot], c.asked[slot] = c.next+uint64(i), c.readSize
	}
	c.askedAt = 0
	k, err := c.end.QP.Post(c.reads[c.slot : c.slot+n])
	c.flying += k
	fence.Count(&c.stats.fetches, uint64(k))
	if k == 0 && err != nil {
		c.postFailed(err)
		return
	}
	if c.reap(); c.flying != 0 {
		c.askedAt = c.end.Clock.Now()
	}
}

// due reports whether the policy wants a READ now.
func (c *Conn) due() bool {
	t := &c.policy.timer
	return t.left == 0 || !t.skips() && t.over(c.end.Clock.Now())
}

// makeReads makes the READs of all answer slots, for the present F, which counts no tail.
func (c *Conn) makeReads() {
	n := c.rings.results
	c.readSize = min(c.rings.fetchedBytes(c.fetchSize-wire.ResultHeader), c.stride)
	c.reads = make([]fabric.WR, n+min(n, maxAhead))
	for i := range c.reads {
		at := i % n * c.rings.resultStride()
		c.reads[i] = fabric.WR{
			ID: kindFetch | uint64(i%n), Op: fabric.OpRead, Flags: fabric.FlagSignaled,
			Local: c.local.Seg(c.landingAt+at, c.readSize), Remote: c.answers.At(at),
		}
	}
}

// fetchRest fetches the part of a frame that the first READ did not bring.
func (c *Conn) fetchRest(at, size int) {
	had := c.asked[c.slot]
	w := fabric.WR{
		ID: kindRest | c.next, Op: fabric.OpRead, Flags: fabric.FlagSignaled,
		Local:  c.local.Seg(c.landingAt+at+had, c.rings.fetchedBytes(size)-had),
		Remote: c.answers.At(at + had),
	}
	fence.Count(&c.stats.rests, 1)
	c.restFlying = 1
	_ = c.postOne(w)
	c.reap()
}

// fetched examines the bytes that a READ brought.
func (c *Conn) fetched(slot int) {
	c.flying--
	m := c.wanted[slot]
	if m < c.next {
		return // it was pushed meanwhile
	}
	w := wire.Word0(fence.Word(c.landing, slot*c.stride).Load())
	if w.Is(m) && c.mayBeWhole(slot, w) {
		c.landed[slot] = m
		if m == c.next && c.policy.hit() {
			c.change(Reply)
		}
		return
	}
	fence.Count(&c.stats.misses, 1)
	c.policy.early()
	if m == c.next {
		c.missed(w)
	}
}

// mayBeWhole reports whether the frame that a READ has brought is whole, as far as that can be
// known before its rest is there. One whose lines are of different times is not there yet.
func (c *Conn) mayBeWhole(slot int, w wire.Word0) bool {
	size := w.Size()
	return !c.rings.proof || size > c.rings.payload || c.rings.fetchedBytes(size) > c.asked[slot] || c.landedWhole(slot, w)
}

// landedWhole reports whether the frame in a landing slot, with word 0 w, proves itself.
func (c *Conn) landedWhole(slot int, w wire.Word0) bool {
	b, size := c.landing[slot*c.stride:], w.Size()
	tail := binary.LittleEndian.Uint64(b[wire.ResultTail(size):])
	return tail == wire.Proof(c.wanted[slot], w, b[wire.ResultHeader:wire.ResultHeader+size])
}

// unproven is called when the frame next has been READ in two parts, and they do not fit.
func (c *Conn) unproven(w wire.Word0) {
	c.landed[c.slot], c.whole = 0, false
	fence.Count(&c.stats.misses, 1)
	c.policy.early()
	c.missed(w)
}

// missed is called when a READ has not brought the frame next.
func (c *Conn) missed(w wire.Word0) {
	if w.Parked(c.next) {
		if c.policy.parked() {
			c.wake()
		}
		return
	}
	var took int64
	if c.askedAt != 0 {
		took = c.end.Clock.Now() - c.askedAt
	}
	if c.policy.missed(took) {
		c.change(Reply)
	}
}

// wake wakes the server. A core that is busy notices no wake-up: when its receives are used
// up, one more waits for it, and the READs behind that one, which would lead to others.
func (c *Conn) wake() {
	fence.Count(&c.stats.wakeups, 1)
	_ = c.postOne(fabric.WR{ID: kindWake, Op: fabric.OpSend, Flags: fabric.FlagSolicited | fabric.FlagSignaled})
}

// reap takes all completions that there are.
func (c *Conn) reap() {
	for c.reapSome() == len(c.comps) {
	}
}

// reapSome takes as many completions as comps holds, and returns how many there were; 0 at the
// end of the connection.
func (c *Conn) reapSome() int {
	n := c.cq.Poll(c.comps[:])
	for i := range c.comps[:n] {
		comp := &c.comps[i]
		if comp.Status != fabric.StatusOK {
			err := c.end.QP.Err()
			if err == nil {
				err = comp.Err()
			}
			c.end.Fail(err)
			return 0
		}
		switch m := comp.ID &^ kindMask; comp.ID & kindMask {
		case kindFetch:
			c.fetched(int(m))
		case kindRest:
			c.restFlying, c.whole = 0, m == c.next
		case kindPiece:
			c.pieceCame()
		case kindMet:
			c.out.size = c.rings.bulk
		case kindRecv:
			if err := c.postReceive(); err != nil {
				c.end.Fail(err)
			}
		}
	}
	return n
}

// receivesFor is how many receives are posted where the ring for results is so long: one for every
// push that can be in flight, and for those whose receives were not posted again yet.
func receivesFor(results int) int { return results + reapAfter(results) }

// reapAfter is after how many pushes a client takes completions at the latest. One that finds
// all pushes at the first look would never post other receives.
func reapAfter(results int) int { return max(results/4, 1) }

// postReceive posts a receive for a push that wakes.
func (c *Conn) postReceive() error {
	c.receive[0].ID = kindRecv
	_, err := c.end.QP.PostRecv(c.receive[:])
	return err
}

package rfp

import (
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/rpc/wire"
)

// fetch posts READs for the answers that come next, when it is time.
func (c *Conn) fetch() {
	if c.flying+c.restFlying != 0 {
		return
	}
	if c.expectsPush() {
		if c.idle < c.doubtAt {
			return
		}
		c.recountLonger()
		c.pause = 0 // counted in polls, of which a sleeper makes few
	}
	if c.pause > 0 {
		c.pause--
		return
	}
	n := min(c.ahead, int(c.number-1-c.answered), c.rings.results)
	for i := range n {
		slot := c.slot + i
		if slot >= c.rings.results {
			slot -= c.rings.results
		}
		c.wanted[slot], c.asked[slot] = c.next+uint64(i), c.fetchSize
	}
	c.askedIdle = c.idle
	k, err := c.qp.Post(c.reads[c.slot : c.slot+n])
	c.flying += k
	fence.Count(&c.stats.fetches, uint64(k))
	if k == 0 && err != nil {
		c.postFailed(err)
		return
	}
	c.reap()
}

// makeReads makes the READs of all answer slots, for the present F.
func (c *Conn) makeReads() {
	n := c.rings.results
	c.reads = make([]fabric.WR, n+min(n, maxAhead))
	for i := range c.reads {
		at := i % n * c.rings.resultStride()
		c.reads[i] = fabric.WR{
			ID: kindFetch | uint64(i%n), Op: fabric.OpRead, Flags: fabric.FlagSignaled,
			Local: c.local.Seg(c.landingAt+at, c.fetchSize), Remote: c.answers.At(at),
		}
	}
}

// maxAhead bounds how many answers are fetched together.
const maxAhead = 16

// fetchRest fetches what the first READ of a frame did not bring.
func (c *Conn) fetchRest(at, size int) {
	had := c.asked[c.slot]
	w := fabric.WR{
		ID: kindRest | c.next, Op: fabric.OpRead, Flags: fabric.FlagSignaled,
		Local:  c.local.Seg(c.landingAt+at+had, wire.ResultBytes(size)-had),
		Remote: c.answers.At(at + had),
	}
	fence.Count(&c.stats.rests, 1)
	c.restFlying = 1
	_ = c.postOne(w)
	c.reap()
}

// fetched looks at what a READ has brought.
func (c *Conn) fetched(slot int) {
	c.flying--
	m := c.wanted[slot]
	if m < c.next {
		return // it was pushed meanwhile
	}
	w := wire.Word0(fence.Word(c.landing, slot*c.stride).Load())
	if w.Is(m) {
		c.landed[slot] = m
		if m == c.next {
			c.hit()
		}
		return
	}
	fence.Count(&c.stats.misses, 1)
	c.ahead = max(c.ahead/2, 1)
	if m == c.next {
		c.missed(w)
	}
}

// hit is told that a READ has brought the frame next. READs that are posted
// together are mostly to find something, since one that comes too early takes lines
// away which the server is about to write.
func (c *Conn) hit() {
	if c.attempts.hit(c.patience()) {
		c.failed(c.saved())
	}
	if c.hits++; c.hits%growAfter == 0 {
		c.ahead = min(c.ahead+1, maxAhead)
	}
}

// growAfter is how many answers come before one more is fetched together.
const growAfter = 8

// missed is told that a READ has not.
func (c *Conn) missed(w wire.Word0) {
	if w.Parked(c.next) {
		c.ring()
		return
	}
	c.took(c.idle-c.askedIdle, c.cfg.Retries)
	if c.since == 0 {
		c.since, c.sinceIdle = c.clock.Now(), c.idle
	}
	n := c.attempts.missed(c.patience())
	c.pause = c.pausing
	c.failed(n)
}

// failed tells the class of the frame next how many READs for it have failed.
func (c *Conn) failed(n int) {
	had, f := c.tries, c.oldest()
	c.tries = n
	if c.classes[f.class].failed(&c.cfg.Params, had, n, f.results, c.since, c.now) {
		c.change(f.class, Reply)
	}
}

// patience is that for calls of the class whose answer is waited for.
func (c *Conn) patience() *patience { return &c.classes[c.oldest().class].patience }

// awaitFirst is called when a request is sent and no other is on its way.
func (c *Conn) awaitFirst() {
	c.attempts.begin(c.patience(), alone)
	c.pause = c.pausing
	c.trust()
}

// awaitNext is called when an answer was taken and others are on their way. There
// is nothing to wait for where the next was fetched, or is being fetched, already.
func (c *Conn) awaitNext() {
	c.follows = following
	if c.landed[c.slot] != c.next && c.flying == 0 {
		c.attempts.begin(c.patience(), following)
		c.pause = c.pausing
	}
}

// ring wakes the server, once for an answer and then again after long pauses. A
// core that is busy notices no ring: when its receives are used up, one more waits
// for it, and the READs behind that one, which would lead to others.
func (c *Conn) ring() {
	c.attempts.reset()
	c.pause = ringPause
	if c.rung && c.idle < c.doubtAt {
		return
	}
	c.rung = true
	c.recountLonger()
	fence.Count(&c.stats.rings, 1)
	_ = c.postOne(fabric.WR{ID: kindRing, Op: fabric.OpSend, Flags: fabric.FlagSolicited | fabric.FlagSignaled})
}

// reap takes completions.
func (c *Conn) reap() {
	n := c.cq.Poll(c.comps[:])
	for i := range c.comps[:n] {
		comp := &c.comps[i]
		if comp.Status != fabric.StatusOK {
			err := c.qp.Err()
			if err == nil {
				err = comp.Err()
			}
			c.fail(err)
			return
		}
		switch m := comp.ID &^ kindMask; comp.ID & kindMask {
		case kindFetch:
			c.fetched(int(m))
		case kindRest:
			c.restFlying, c.whole = 0, m == c.next
		case kindPiece:
			c.pieceCame()
		case kindRecv:
			if err := c.postReceive(); err != nil {
				c.fail(err)
			}
		}
	}
}

// postReceive posts a receive for a push that wakes.
func (c *Conn) postReceive() error {
	c.receive[0].ID = kindRecv
	_, err := c.qp.PostRecv(c.receive[:])
	return err
}

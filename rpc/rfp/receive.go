package rfp

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/wire"
)

// Kinds of work requests, in the upper byte of their IDs. The rest is the number
// of the result frame.
const (
	kindWrite = iota << 56
	kindFetch
	kindRest
	kindWake
	kindRecv
	kindPiece
	kindMet
	kindMask = 0xFF << 56
)

// Words in local memory behind the slots, from which small things are written.
const (
	modeWord   = 0
	takenWords = 8 // how many words for takenAt are used in turn
	choiceWord = numClasses + 8*takenWords
	meetWord   = choiceWord + wordSize
	wordsBytes = meetWord + wordSize
	wordSize   = 8
)

// receiver is the part of a Conn that takes results.
type receiver struct {
	next      uint64 // result frame that is taken next
	slot      int    // its slot
	replyWord []*atomic.Uint64
	landing   []byte // the landing slots
	landingAt int    // their place in local memory
	stride    int    // the distance of result slots
	wordsAt   int
	pushed    []byte // the memory of replies
	fetchSize int    // F
	readSize  int    // with the tail, if frames prove themselves

	// READs of the answer slots, made once; the first ones again behind the
	// last, so that no chain wraps.
	reads []fabric.WR
	// By slot: the frame that its last READ asked for, how many bytes of it, and
	// the frame that a READ has brought.
	wanted     []uint64
	asked      []int
	landed     []uint64
	flying     int   // READs of answers in flight
	restFlying int   // 1 while the rest of a frame is fetched
	whole      bool  // the rest has come
	askedAt    int64 // when READs were posted that were not over at once; 0: they were
	unreaped   int   // pushes found since completions were taken for their sake

	open     bool // a frame is being taken
	held     bool // a frame is being taken, and a piece of it is in flight
	pieced   bool // a piece of it was taken
	word     wire.Word0
	cur      []byte // the rest of it
	aside    []byte // where it is while a READ is in flight to its landing slot
	partial  []byte // of a result that is not complete
	ackedAt  uint64 // frames taken that the server knows of, at least
	takenPut int
}

const (
	// yieldAfter is how long a client that fetches spins before it lets others
	// have its processor, unless it is busy by policy.
	yieldAfter = 50 * time.Microsecond
	// maxSleep bounds a sleep that a push is to end (I4).
	maxSleep = time.Millisecond
)

func (r *receiver) init(g *rings, landingAt, wordsAt int, local, replies []byte, fetchSize int) {
	r.next = 1
	r.landingAt, r.wordsAt, r.fetchSize, r.stride = landingAt, wordsAt, fetchSize, g.resultStride()
	r.landing, r.pushed = local[landingAt:wordsAt], replies
	r.wanted, r.landed, r.asked = make([]uint64, g.results), make([]uint64, g.results), make([]int, g.results)
	for n := range g.results {
		r.replyWord = append(r.replyWord, fence.Word(replies, g.resultAt(uint64(n+1))))
	}
}

// Poll makes progress without waiting, and reports whether Next has a result or
// the connection is over.
func (c *Conn) Poll() bool {
	if c.held && !c.pieceHere() {
		return c.end.Err != nil
	}
	if c.absorb(); c.open || c.held || c.end.Err != nil {
		return c.open || c.end.Err != nil // what has come before the connection failed is there to be taken
	}
	if c.fill != 0 {
		c.flushLate()
	}
	if !c.awaits() {
		c.reap()
		return c.end.Err != nil
	}
	if w := wire.Word0(fence.Observe64(c.replyWord[c.slot])); w.Is(c.next) && c.landed[c.slot] != c.next && c.restFlying == 0 && c.takePush(w) {
		return c.open || c.end.Err != nil
	}
	if !c.policy.pushes && c.policy.timer.skips() {
		return false // nothing is in flight, and the next READ is not due
	}
	c.reap()
	if c.landed[c.slot] != c.next {
		c.fetch()
	}
	if c.landed[c.slot] == c.next && c.end.Err == nil {
		c.takeLanded()
	}
	return c.open || c.end.Err != nil
}

// flushLate sends a frame that has waited long enough for more messages. Its
// time counts from the first Poll, so that one which fills at once costs no look
// at the clock.
func (c *Conn) flushLate() {
	switch now := c.end.Clock.Now(); {
	case c.opened == 0:
		c.opened = now
	case now-c.opened > int64(c.cfg.FlushAfter):
		_ = c.Flush()
	}
}

// oldest is the request frame whose answer comes next.
func (c *Conn) oldest() *sentFrame { return &c.sent[c.oldSlot] }

// takePush takes a frame that the server has written here, if it is all there.
func (c *Conn) takePush(w wire.Word0) bool {
	size := w.Size()
	if size > c.rings.payload {
		c.end.Fail(c.tooLong(size))
		return true
	}
	at := c.slot * c.stride
	tail := fence.Observe64(fence.Word(c.pushed[at:], wire.ResultTail(size)))
	if !wire.MayEnd(tail, c.next, c.rings.proof) {
		return false
	}
	payload := c.landing[at+wire.ResultHeader : at+wire.ResultHeader+size]
	if c.flying != 0 {
		// A READ may still bring the same bytes to the same place: go elsewhere.
		c.aside = grow(c.aside, size)[:size]
		payload = c.aside
	}
	fence.CopyIn(payload, c.pushed[at+wire.ResultHeader:at+wire.ResultHeader+size])
	if c.rings.proof && tail != wire.Proof(c.next, w, payload) {
		return false
	}
	fence.Count(&c.stats.replies, 1)
	if c.unreaped++; c.unreaped >= reapAfter(c.rings.results) {
		c.unreaped = 0
		c.reap()
	}
	c.begin(w, payload)
	return true
}

// tooLong is the error for a frame whose length breaks the agreement.
func (c *Conn) tooLong(size int) error {
	return fmt.Errorf("malformed result frame %d: %d bytes, want at most %d: %w", c.next, size, c.rings.payload, rpc.ErrProtocol)
}

// takeLanded takes the frame that a READ has brought, or fetches its rest.
func (c *Conn) takeLanded() {
	if c.restFlying != 0 {
		return
	}
	at := c.slot * c.stride
	w := wire.Word0(fence.Word(c.landing, at).Load())
	size := w.Size()
	if size > c.rings.payload {
		c.end.Fail(c.tooLong(size))
		return
	}
	if c.rings.fetchedBytes(size) > c.asked[c.slot] {
		if !c.whole {
			if c.fetchRest(at, size); !c.whole {
				return
			}
		}
		if c.rings.proof && !c.landedWhole(c.slot, w) {
			c.unproven(w)
			return
		}
	}
	c.begin(w, c.landing[at+wire.ResultHeader:at+wire.ResultHeader+size])
}

// begin starts to take the frame next.
func (c *Conn) begin(w wire.Word0, payload []byte) {
	c.open, c.word, c.cur, c.whole = true, w, payload, false
	if c.policy.answered(w.Nanos()) {
		c.change(Fetch)
	}
	if c.tuner != nil {
		c.learn(w)
	}
	c.absorb()
}

// beforeSleep is called before a sleep that a push is to end: the server may sleep
// too, and has announced it where only a READ sees it.
func (c *Conn) beforeSleep() {
	if c.awaits() {
		c.policy.beforeSleep()
	}
}

// awaits reports whether an answer is awaited.
func (c *Conn) awaits() bool { return c.number-1 != c.answered }

// absorb takes entries that are only parts of a result, and leaves the frame open
// only if the end of one is in it.
func (c *Conn) absorb() {
	for c.open {
		if len(c.cur) == 0 {
			c.finish()
			return
		}
		entry, rest, marks, err := wire.NextEntry(c.cur)
		if err == nil && marks == wire.Bulk {
			if !c.absorbBulk(entry) {
				return
			}
			c.cur = rest
			continue
		}
		if err == nil && marks&wire.More == 0 && c.bulk.arrived == 0 {
			return
		}
		if err != nil || c.bulk.arrived != 0 || len(c.partial)+len(entry) > c.MaxMessage() {
			c.malformed()
			return
		}
		c.partial = append(c.partial, entry...)
		c.cur = rest
	}
}

// malformed ends the connection: the entries of the frame next break the protocol.
func (c *Conn) malformed() {
	c.end.Fail(fmt.Errorf("malformed entry in result frame %d: %w", c.next, rpc.ErrProtocol))
	c.open = false
}

// finish is done with the frame next.
func (c *Conn) finish() {
	c.open, c.cur = false, nil
	c.next++
	if c.slot++; c.slot == c.rings.results {
		c.slot = 0
	}
	if c.word.Last() {
		f := c.oldest()
		if f.results != 0 {
			c.end.Fail(fmt.Errorf("result frame %d ends an answer that lacks %d results: %w", c.next-1, f.results, rpc.ErrProtocol))
		}
		c.out.free(f.bulkEnd)
		c.ackedAt = max(c.ackedAt, f.taken) // a server that has answered has read it
		c.answered++
		if c.oldSlot++; c.oldSlot == c.rings.window {
			c.oldSlot = 0
		}
	}
	if c.awaits() {
		f := c.oldest()
		c.policy.await(f.class, f.results, following, c.landed[c.slot] == c.next || c.flying != 0)
	}
	if c.word.Last() && c.unsent() {
		c.goOn()
	}
	if c.next-1-c.ackedAt > uint64(c.rings.results)/2 || c.pieced {
		c.pieced = false
		c.tellTaken()
	}
}

// Next returns the next result, of the oldest message that has none. data is
// valid until the next call of Next, Poll, Send or Wait. err is an *rpc.Error
// when the call failed at the server. ok is false when no result has come: then Poll,
// or Wait; or the connection is over, see Err.
func (c *Conn) Next() (data []byte, err error, ok bool) {
	if !c.open && (!c.Poll() || !c.open) {
		return nil, nil, false
	}
	entry, rest, marks, bad := wire.NextEntry(c.cur)
	if marks&wire.More != 0 && !(marks == wire.Bulk && c.bulk.here) { // it follows whole results: only the last of a frame goes on in another
		if !c.Poll() || !c.open {
			return nil, nil, false
		}
		entry, rest, marks, bad = wire.NextEntry(c.cur)
	}
	if marks == wire.Bulk {
		entry, marks = c.longResult(), 0
	}
	if len(c.partial)+len(entry) > c.MaxMessage() {
		c.malformed()
		return nil, nil, false
	}
	f := c.oldest()
	if f.results--; bad != nil || f.results < 0 {
		c.end.Fail(fmt.Errorf("result frame %d has more results than its request has messages: %w", c.next, rpc.ErrProtocol))
		c.open = false
		return nil, nil, false // the reason is in Err
	}
	c.calls--
	if c.batch != nil {
		c.stampTaken()
	}
	if len(c.partial) != 0 {
		entry = append(c.partial, entry...)
		if c.partial = entry[:0]; cap(entry) > keepLarge {
			c.partial = nil
		}
	}
	if c.cur = rest; len(rest) == 0 {
		c.finish()
	}
	if marks&wire.Failure != 0 {
		code, text := wire.ParseFailure(entry)
		return nil, &rpc.Error{Code: code, Text: text}, true
	}
	return entry, nil, true
}

// NextShort is Next for a result that is there, whole, with others behind it in its
// frame; ok is false for any other, which Next returns. It is what most results are,
// and a fraction of the work.
func (c *Conn) NextShort() (data []byte, ok bool) {
	cur, f := c.cur, c.oldest()
	if !c.open || len(cur) < wire.EntryHeader || len(c.partial) != 0 || c.batch != nil {
		return nil, false
	}
	v := binary.LittleEndian.Uint32(cur) // marks are its highest bits
	end := wire.EntryHeader + int(v)
	if v > min(wire.MaxEntry, c.welcome.MaxMessage) || end >= len(cur) || f.results <= 0 {
		return nil, false
	}
	f.results--
	c.calls--
	c.cur = cur[end:]
	return cur[wire.EntryHeader:end:end], true
}

// Wait waits until Next has a result, and reports whether it has; otherwise
// timeout has passed (0: never), nothing is in flight, or the connection is over.
func (c *Conn) Wait(timeout time.Duration) bool {
	if c.spin(c.pollf) {
		return c.open
	}
	deadline := int64(0)
	if timeout > 0 {
		deadline = c.end.Clock.Now() + int64(timeout)
	}
	for c.end.Err == nil && (c.calls != 0 || c.awaits()) {
		limit := maxSleep
		if deadline != 0 {
			left := deadline - c.end.Clock.Now()
			if left <= 0 {
				return c.Poll() && c.open
			}
			limit = min(limit, time.Duration(left))
		}
		if c.waitFor(c.newsf, limit) && (c.open || c.spin(c.pollf)) {
			return c.open
		}
	}
	return false
}

// pollNews is Poll that also reports whether a piece has come.
func (c *Conn) pollNews() bool {
	had := c.bulk.arrived
	if c.crowded() {
		c.policy.yielded()
	}
	return c.Poll() || c.bulk.arrived != had
}

// spin polls until poll says so, or nothing has come for some time. A long result
// is news with every piece: were its time counted from the first one, most would be
// slept for in vain. After some pieces the caller looks at the time.
func (c *Conn) spin(poll func() bool) bool {
	if c.crowded() {
		return poll()
	}
	var vain stopwatch
	for had, pieces := c.bulk.arrived, 0; !poll(); {
		switch {
		case c.bulk.arrived != had && pieces < spinPieces:
			vain, had, pieces = stopwatch{}, c.bulk.arrived, pieces+1
		case c.bulk.arrived != 0:
			if vain.beyond(pieceSpin, c.end.Clock) {
				return false
			}
		case c.sleepsAtOnce() || vain.beyond(spinFor, c.end.Clock):
			return false
		}
	}
	return true
}

// spinFor is how long Wait polls before it goes on in a waiter, and pieceSpin how long
// between two pieces of a result; spinPieces is for how many pieces.
const (
	spinFor    = 15 * time.Microsecond
	pieceSpin  = 55 * time.Microsecond
	spinPieces = 16
)

// stopwatch measures how long polls have been in vain, and reads the clock with one poll
// in 64.
type stopwatch struct {
	polls int
	since int64
}

// beyond counts a poll in vain, and reports whether there have been some for longer than d.
func (w *stopwatch) beyond(d time.Duration, clock fabric.Clock) bool {
	if w.polls++; w.polls%64 != 0 {
		return false
	}
	now := clock.Now()
	if w.polls == 64 {
		w.since = now
	}
	return now-w.since > int64(d)
}

// crowded reports whether polling keeps the server from answering.
func (c *Conn) crowded() bool {
	if c.policy.pushes {
		return c.sleeper.Crowded()
	}
	return c.spinner.Crowded()
}

// sleepsAtOnce reports whether the next result is a push that takes long.
func (c *Conn) sleepsAtOnce() bool { return c.awaits() && c.policy.sleepsAtOnce() }

// waitFor waits in the waiter that fits: a client that fetches must not sleep
// between two READs; one that expects a push looks for itself after each sleep.
func (c *Conn) waitFor(poll func() bool, limit time.Duration) bool {
	if c.awaits() && !c.policy.pushes {
		if c.cfg.Policy == fabric.Busy {
			return c.spinner.Wait(poll, limit)
		}
		if c.spinner.Wait(poll, min(limit, yieldAfter)) {
			return true
		}
		if !c.spinner.Crowded() {
			runtime.Gosched()
		}
		return false
	}
	w := c.sleeper
	if c.sleepsAtOnce() {
		w = c.drowsy
	}
	if w.Wait(poll, limit) {
		return true
	}
	c.policy.readNow()
	return false
}

// frameRoom is the longest message that fits a frame.
func (c *Conn) frameRoom() int { return c.rings.payload - wire.EntryHeader }

package verbs

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/remora-kv/remora/internal/fence"
)

// pipeline is how a responder looks things up: at once, or as HERD does, in as
// many stages as a search has steps (HERD's have two). A request that comes asks
// for its first line; then every request in the pipeline makes its next access,
// to a line that it asked for one request earlier, and asks for the next one; the
// oldest has made its last and is answered; and the new one takes its place. So
// the accesses of several requests, and the posting of replies, overlap.
//
// Who brings nothing more must not wait: after flushLooks looks in vain no-ops
// empty the pipeline.
type pipeline struct {
	table  *lookups // nil: nothing is looked up
	ahead  bool
	places []search // a ring
	first  int      // the oldest
	count  int
	looks  int       // in vain, since the last request
	lane   *respLane // that of the replies that were made and not posted
	ready  int       // their number
}

// flushLooks is HERD's.
const flushLooks = 100

func newPipeline(t *lookups, c *Case) pipeline {
	return pipeline{table: t, ahead: c.Prefetch, places: make([]search, c.Accesses)}
}

// question is a request as it was read, once: a caller that has given it up may
// be writing the next one into its slot.
type question struct{ key, seq uint64 }

// questions are the requests of a lane that were taken, in order. An answer is sent
// from memory of this side, not from the request.
type questions struct {
	words []*atomic.Uint64 // by slot: the key; none: nothing is looked up
	taken []question       // by slot
	next  int              // slot of the first that is not in the pipeline
	stage [][]byte         // by place in the ring of replies: sum and sequence number
}

func newQuestions(e *end, l *lane, c *Case) questions {
	q := questions{taken: make([]question, c.Window)}
	for slot := range c.Window {
		if c.Accesses > 0 {
			q.words = append(q.words, wordAt(l.shared.Bytes(), e.slots.key(slot)))
		}
	}
	for place := range e.shape.ring {
		q.stage = append(q.stage, l.local.Bytes()[e.slots.key(place):e.slots.word(place)+wordSize])
	}
	return q
}

// take reads the request in a slot, whose sequence number was seen.
func (q *questions) take(slot int, seq uint64) {
	q.taken[slot].seq = seq
	if q.words != nil {
		q.taken[slot].key = fence.Observe64(q.words[slot])
	}
}

// pull returns the next request.
func (q *questions) pull() question {
	next := q.taken[q.next]
	if q.next++; q.next == len(q.taken) {
		q.next = 0
	}
	return next
}

// take serves n requests that came on a lane, after those in the pipeline.
func (s *responder) take(r *respLane, n int) error {
	p := &s.pipe
	switch {
	case p.table == nil && r.asked.taken == nil:
		return s.answer(r, n)
	case p.table == nil:
		return s.copyBack(r, n)
	}
	p.looks = 0
	for range n {
		one := p.table.begin(r, r.asked.pull())
		var err error
		if p.ahead {
			err = s.push(&one)
		} else {
			err = s.lookUp(&one)
		}
		if err != nil {
			return err
		}
	}
	return s.postReady()
}

// copyBack answers n requests by copies of them, under the numbers that were seen.
func (s *responder) copyBack(r *respLane, n int) error {
	if err := s.makeRoom(r, n); err != nil {
		return err
	}
	for i := range n {
		slot, place := r.asked.next, (r.out.next+i)%r.out.ring
		ask := r.asked.pull()
		at := s.e.slots.off(slot)
		fence.CopyIn(s.e.copySeg(r.l, place).Bytes(), r.l.shared.Bytes()[at:at+s.e.slots.size])
		binary.NativeEndian.PutUint64(r.asked.stage[place][wordSize:], ask.seq)
	}
	return s.answer(r, n)
}

// lookUp makes all accesses of a search, and its reply.
func (s *responder) lookUp(one *search) error {
	for one.left > 0 {
		s.pipe.table.step(one)
	}
	return s.finish(one)
}

// push puts a search into the pipeline.
func (s *responder) push(one *search) error {
	p := &s.pipe
	p.table.expect(one)
	err := s.advance()
	last := p.first + p.count
	if last >= len(p.places) {
		last -= len(p.places)
	}
	p.places[last] = *one
	p.count++
	return err
}

// advance makes the next access of every search in the pipeline, and the reply
// of the oldest when that was its last.
func (s *responder) advance() error {
	p := &s.pipe
	for i, at := 0, p.first; i < p.count; i++ {
		one := &p.places[at]
		if p.table.step(one); one.left > 0 {
			p.table.expect(one)
		}
		if at++; at == len(p.places) {
			at = 0
		}
	}
	if p.count == 0 || p.places[p.first].left > 0 {
		return nil
	}
	done := &p.places[p.first]
	p.count--
	if p.first++; p.first == len(p.places) {
		p.first = 0
	}
	return s.finish(done)
}

// finish makes the reply to a request that was looked up, to be posted with
// others of its lane.
func (s *responder) finish(one *search) error {
	p, r := &s.pipe, one.lane
	if p.lane != r {
		if err := s.postReady(); err != nil {
			return err
		}
	}
	if err := s.makeRoom(r, p.ready+1); err != nil {
		return err
	}
	reply := r.asked.stage[(r.out.next+p.ready)%r.out.ring]
	binary.NativeEndian.PutUint64(reply, one.sum)
	binary.NativeEndian.PutUint64(reply[wordSize:], one.seq)
	p.lane, p.ready = r, p.ready+1
	return nil
}

// postReady posts the replies that were made.
func (s *responder) postReady() error {
	p := &s.pipe
	if p.ready == 0 {
		return nil
	}
	n := p.ready
	p.ready = 0
	return s.answer(p.lane, n)
}

// idle counts a look at every lane in vain, and empties the pipeline after many.
// It reports whether it did.
func (s *responder) idle() bool {
	p := &s.pipe
	if p.count == 0 {
		return false
	}
	if p.looks += len(s.lanes); p.looks < flushLooks {
		return false
	}
	p.looks = 0
	for p.count > 0 && s.err == nil {
		s.err = s.advance()
	}
	if s.err == nil {
		s.err = s.postReady()
	}
	return true
}

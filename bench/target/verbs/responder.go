package verbs

import (
	"errors"
	"sync/atomic"

	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
)

// responder is the server of an echo: it looks for requests on every lane of
// its end and sends each back as it came, but for what it looked up for it.
type responder struct {
	e     *end
	lanes []respLane
	copyc bool // replies are sent from a copy: without inline a buffer is kept
	slack int
	m     *load.Meter
	err   error
	looks int
	stepN func() bool
	pipe  pipeline
}

type respLane struct {
	l      *lane
	out    sendRing
	window int
	chain  int

	req  []*atomic.Uint64 // by slot: last word of the request, when it is written
	slot int              // of the next request
	seq  uint64           // of the last request

	asked questions // requests as they were read, when replies are not sent from them

	recv recvRing // takes the requests, when they are sent
	mail int      // requests taken and not yet answered
	bell *bell
}

func newResponder(e *end, c *Case, t *lookups) (*responder, error) {
	s := &responder{e: e, lanes: make([]respLane, len(e.lanes)), slack: e.shape.ring/2 - 1}
	s.pipe = newPipeline(t, c)
	if c.Signaled {
		s.slack = 0
	}
	s.copyc = c.Request == fabric.OpSend && !c.Inline
	for i, l := range e.lanes {
		if err := s.initLane(&s.lanes[i], l, c); err != nil {
			return nil, err
		}
	}
	e.doze, s.stepN = s.doze, s.stepSent
	if c.Request == fabric.OpWrite {
		s.stepN = s.stepWritten
	}
	return s, nil
}

func (s *responder) initLane(r *respLane, l *lane, c *Case) (err error) {
	r.l, r.window, r.chain = l, c.Window, c.chain()
	r.out = newSendRing(l, l.post(), s.e.shape, max(c.Window, pollBatch), func(place int) fabric.WR {
		w := fabric.WR{Op: c.Reply, Local: s.source(l, c, place), To: l.aim(l.post())}
		if c.Reply == fabric.OpWrite {
			w.Remote = l.remote.At(s.e.slots.off(place % c.Window))
		}
		if c.Inline {
			w.Flags |= fabric.FlagInline
		}
		return w
	})
	if r.bell, err = newBell(s.e, l, c, c.Request, c.Reply); err != nil {
		return err
	}
	if c.Request == fabric.OpWrite {
		for slot := range c.Window {
			r.req = append(r.req, wordAt(l.shared.Bytes(), s.e.slots.word(slot)))
		}
		if s.ownReply(c) {
			r.asked = newQuestions(s.e, l, c)
		}
		return nil
	}
	r.recv = newRecvRing(l, l.qp, s.e.shape.recvs, func(place int) fabric.RecvWR {
		return fabric.RecvWR{Local: s.e.recvSeg(l, place)}
	})
	return r.recv.post(s.e.shape.recvs)
}

// ownReply reports whether replies to written requests are made in memory of this
// side: with what was looked up, or because a caller that takes a message for lost
// overwrites a request that is still being answered.
func (s *responder) ownReply(c *Case) bool {
	return c.Request == fabric.OpWrite && (c.Accesses > 0 || c.lossy())
}

// source is what reply number place is sent from: the request itself, where it
// stays until the client has the reply; a copy; or where the answer is made.
func (s *responder) source(l *lane, c *Case, place int) fabric.Seg {
	switch {
	case s.copyc || s.ownReply(c):
		return s.e.copySeg(l, place)
	case c.Request == fabric.OpWrite:
		return l.shared.Seg(s.e.slots.off(place%c.Window), c.Size)
	}
	return s.e.messageSeg(l, place)
}

func (s *responder) owner() *end { return s.e }

// run implements program.
func (s *responder) run(m *load.Meter) error {
	s.m, s.err = m, nil
	return serve(s.e, m, s.stepN, &s.err)
}

func (s *responder) doze() {
	for i := range s.lanes {
		if err := s.lanes[i].bell.doze(); err != nil {
			s.err = err
		}
	}
}

// looksPerStep is how often one step looks at every lane before it polls
// completions and returns without work.
const looksPerStep = 128

// stepWritten answers requests that were written into memory.
func (s *responder) stepWritten() bool {
	for range looksPerStep {
		found := false
		for i := range s.lanes {
			r := &s.lanes[i]
			n := r.requests()
			if n == 0 {
				continue
			}
			found = true
			if err := s.take(r, n); err != nil {
				s.err = err
				return true
			}
		}
		if !found && s.idle() {
			return true
		}
		if found {
			s.looks++
			if s.looks&63 == 0 {
				s.tend()
			}
			return true
		}
	}
	s.tend()
	return s.err != nil
}

// tend does what must be done from time to time, busy or not.
func (s *responder) tend() {
	s.collect()
	for i := range s.lanes {
		if err := s.lanes[i].bell.look(); err != nil {
			s.err = err
		}
	}
}

// requests takes the next requests, at most a chain of them.
func (r *respLane) requests() int {
	n := 0
	for n < r.chain {
		seq := fence.Observe64(r.req[r.slot])
		if seq != r.seq+1 {
			if seq <= r.seq {
				break
			}
			r.seq = seq - 1 // those between were lost
		}
		r.seq++
		if r.asked.taken != nil {
			r.asked.take(r.slot, seq)
		}
		if r.slot++; r.slot == r.window {
			r.slot = 0
		}
		n++
	}
	return n
}

// answer sends the next n replies of a lane.
func (s *responder) answer(r *respLane, n int) error {
	if err := s.makeRoom(r, n); err != nil {
		return err
	}
	s.m.Ops += uint64(n)
	return r.out.post(n)
}

// makeRoom takes completions when many replies are pending, and until n more
// fit.
func (s *responder) makeRoom(r *respLane, n int) error {
	for r.out.pending() > s.slack {
		if !s.collect() && r.out.pending()+n <= r.out.ring {
			break
		}
		if s.err != nil {
			return s.err
		}
	}
	return nil
}

// stepSent answers requests that were sent.
func (s *responder) stepSent() bool {
	if !s.collect() {
		return false
	}
	for i := range s.lanes {
		r := &s.lanes[i]
		for r.mail > 0 && s.err == nil {
			s.err = s.reply(r, min(r.mail, pollBatch))
		}
	}
	return true
}

// reply answers the next n received requests and posts their receives again.
// Reply number i is sent from receive number i, whose place is the same.
func (s *responder) reply(r *respLane, n int) error {
	if s.copyc {
		if err := s.makeRoom(r, n); err != nil {
			return err
		}
		for i := range n {
			place := (r.out.next + i) % r.out.ring
			copy(s.e.copySeg(r.l, place).Bytes(), s.e.messageSeg(r.l, place).Bytes())
		}
	}
	r.mail -= n
	if err := s.answer(r, n); err != nil {
		return err
	}
	return r.recv.post(n)
}

// copySeg is where reply number place is copied to when it is not inline.
func (e *end) copySeg(l *lane, place int) fabric.Seg {
	return l.local.Seg(e.slots.off(place), e.slots.size)
}

// collect takes completions, and reports whether there were any.
func (s *responder) collect() bool {
	n := s.e.cq.Poll(s.e.comps)
	for i := range s.e.comps[:n] {
		c := &s.e.comps[i]
		r := &s.lanes[laneOf(c.ID)]
		switch {
		case c.Status != fabric.StatusOK:
			s.err = c.Err()
			return true
		case c.Op != fabric.OpRecv && r.bell.done(placeOf(c.ID)):
		case c.Op != fabric.OpRecv:
			r.out.reclaim(placeOf(c.ID))
		case r.req != nil:
			s.err = errors.Join(s.err, r.bell.rung())
		default:
			r.mail++
		}
	}
	return n > 0
}

package verbs

import (
	"time"

	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/fabric"
)

// sink keeps receives posted on every lane of its end and counts what arrives.
type sink struct {
	e     *end
	recv  []recvRing
	count []int // receives consumed and not yet posted again, by lane
	m     *load.Meter
	err   error
	stepN func() bool
}

func newSink(e *end) (*sink, error) {
	s := &sink{e: e, recv: make([]recvRing, len(e.lanes)), count: make([]int, len(e.lanes))}
	for i, l := range e.lanes {
		s.recv[i] = newRecvRing(l, l.qp, e.shape.recvs, func(place int) fabric.RecvWR {
			return fabric.RecvWR{Local: e.recvSeg(l, place)}
		})
		if err := s.recv[i].post(e.shape.recvs); err != nil {
			return nil, err
		}
	}
	s.stepN = s.step
	return s, nil
}

func (s *sink) owner() *end { return s.e }

// run implements program: it receives until it is stopped and nothing comes any
// more. Messages may still be under way when the sender knows them to be done.
func (s *sink) run(m *load.Meter) error {
	s.m, s.err = m, nil
	if err := serve(s.e, m, s.stepN, &s.err); err != nil {
		return err
	}
	for quiet := 0; quiet < 2 && s.err == nil; quiet++ { // the first Wait may be ended by the Wake
		for s.e.waiter.Wait(s.stepN, lastMessages) && s.err == nil {
			quiet = 0
		}
	}
	return s.err
}

// lastMessages is how long a sink that was stopped waits for one more message.
const lastMessages = 5 * time.Millisecond

// step takes what has arrived and posts its receives again.
func (s *sink) step() bool {
	n := s.e.cq.Poll(s.e.comps)
	if n == 0 {
		return false
	}
	for i := range s.e.comps[:n] {
		c := &s.e.comps[i]
		if c.Status != fabric.StatusOK {
			s.err = c.Err()
			return true
		}
		s.count[laneOf(c.ID)]++
	}
	for i, k := range s.count {
		if k == 0 {
			continue
		}
		s.count[i] = 0
		if err := s.recv[i].post(k); err != nil {
			s.err = err
			return true
		}
	}
	s.m.Ops += uint64(n)
	return true
}

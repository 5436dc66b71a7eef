package faults

import (
	"slices"

	"github.com/remora-kv/remora/fabric"
)

// mix is the finalizer of splitmix64: every input bit changes every output bit.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

const golden = 0x9e3779b97f4a7c15

// stream is the decisions of one rule about one sequence of operations (F1).
type stream struct {
	*rule
	key  uint64
	left int // of a burst
	// chance is the probability that the fault strikes, or that a burst of it
	// begins. With bursts of n, a cycle has (1-s)/s operations that pass and n
	// that are struck, so the share of struck ones is the rate p for the chance
	// s = p/(p+n(1-p)).
	chance float64
}

// strikes decides about operation n. It is called once for each n that is not
// struck by an earlier rule.
func (s *stream) strikes(n uint64, verb fabric.Op) bool {
	if (s.verb != fabric.OpRecv && s.verb != verb) || !s.ops.contains(n) || !s.rule.strikes(verb) {
		return false
	}
	if s.left > 0 {
		s.left--
		return true
	}
	// 53 bits, all that a float64 holds.
	if float64(mix(s.key+golden*(n+1))>>11) >= s.chance*(1<<53) {
		return false
	}
	s.left = s.burst - 1
	return true
}

// decider decides about the operations of a queue pair, about dials or accepts.
type decider struct {
	streams []stream
	// quiet is the first operation that may be reordered again: those that
	// overtake one are not held themselves, or nothing would change place.
	quiet uint64
}

// decider gives each rule of each queue pair its own sequence of draws.
func (p *Plan) decider(on string, qp uint64) (c decider) {
	for i := range p.rules {
		if r := &p.rules[i]; r.on == on && r.qps.contains(qp) {
			c.streams = append(c.streams, stream{
				rule: r, key: mix(mix(p.seed+golden*uint64(r.place+1)) + golden*(qp+1)),
				chance: r.rate / (r.rate + float64(r.burst)*(1-r.rate)),
			})
		}
	}
	return c
}

// decide returns the rule that strikes operation n, or nil.
func (c *decider) decide(n uint64, verb fabric.Op) *rule {
	for i := range c.streams {
		s := &c.streams[i]
		if s.fault == Reorder && n < c.quiet {
			continue
		}
		if s.strikes(n, verb) {
			if s.fault == Reorder {
				c.quiet = n + uint64(s.by) + 1
			}
			return s.rule
		}
	}
	return nil
}

// room returns how many times as large inner queues are as those of the program, for what
// the plan holds of transport t.
func (p *Plan) room(t fabric.Transport) int {
	room := 1
	for _, r := range p.rules {
		switch {
		case r.on != t.String():
		case r.scatters():
			return roomToScatter
		case r.fault == Delay, r.fault == Dup, r.fault == Reorder:
			room = roomToHold
		}
	}
	return room
}

// inOrder reports whether the plan leaves the address order alone.
func (p *Plan) inOrder() bool {
	return !slices.ContainsFunc(p.rules, func(r rule) bool { return r.scatters() })
}

package faults

import (
	"math/bits"
	"slices"

	"github.com/remora-kv/remora/fabric"
)

// rule is a Rule made ready for use.
type rule struct {
	Rule
	place  int // in the plan
	verbs  mask
	always bool
	// threshold is the chance, in 2^-64ths, that the fault strikes (or that
	// a burst of it begins).
	threshold uint64
}

// compile makes a rule ready. With bursts of n, the chance s that one begins
// is such that the share of struck operations is the rate p: a cycle has
// (1-s)/s operations that pass and n that are struck, so s = p/(p+n(1-p)).
func compile(place int, r Rule) rule {
	c := rule{Rule: r, place: place, verbs: ^mask(0)}
	if len(r.Verbs) > 0 {
		c.verbs = 0
		for _, v := range r.Verbs {
			c.verbs |= 1 << v
		}
	}
	switch {
	case r.Rate == 0 || r.Rate == Always:
		c.always = true
	case r.Rate > 0:
		p, q, n := uint64(r.Rate), uint64(Always-r.Rate), uint64(max(r.Burst, 1))
		c.threshold, _ = bits.Div64(p, 0, p+n*q)
	}
	if c.Status == fabric.StatusOK {
		c.Status = fabric.StatusPeerLost
	}
	if c.Fault == Reorder && c.Time == 0 {
		c.Time = defaultWait
	}
	c.Burst, c.By = max(c.Burst, 1), max(c.By, 1)
	return c
}

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
}

// newStream gives each rule of each queue pair its own sequence of draws.
func newStream(seed uint64, r *rule, qp uint64) stream {
	return stream{rule: r, key: mix(mix(seed+golden*uint64(r.place+1)) + golden*(qp+1))}
}

// strikes decides about operation n. It is called once for each n that is not
// struck by an earlier rule.
func (s *stream) strikes(n uint64, verb fabric.Op) bool {
	if !s.verbs.has(uint8(verb)) || !s.Ops.contains(n) {
		return false
	}
	if s.left > 0 {
		s.left--
		return true
	}
	if !s.always && mix(s.key+golden*(n+1)) >= s.threshold {
		return false
	}
	s.left = s.Burst - 1
	return true
}

// decider decides about the operations of one queue pair.
type decider struct {
	streams []stream
	// quiet is the first operation that may be reordered again: those that
	// overtake one are not held themselves, or nothing would change place.
	quiet uint64
}

// decider returns the decider for a queue pair.
func (d *Device) decider(t fabric.Transport, qp uint64) decider {
	var c decider
	for i := range d.rules {
		r := &d.rules[i]
		if slices.Contains(r.transports(), t) && r.QPs.contains(qp) {
			c.streams = append(c.streams, newStream(d.plan.Seed, r, qp))
		}
	}
	return c
}

// decide returns the rule that strikes operation n, or nil.
func (c *decider) decide(n uint64, verb fabric.Op) *rule {
	for i := range c.streams {
		s := &c.streams[i]
		if s.Fault == Reorder && n < c.quiet {
			continue
		}
		if s.strikes(n, verb) {
			if s.Fault == Reorder {
				c.quiet = n + uint64(s.By) + 1
			}
			return s.rule
		}
	}
	return nil
}

// holds reports whether a rule of the plan holds messages of transport t.
func (d *Device) holds(t fabric.Transport) bool {
	return slices.ContainsFunc(d.rules, func(r rule) bool {
		return (r.Fault == Delay || r.Fault == Dup || r.Fault == Reorder) && slices.Contains(r.transports(), t)
	})
}

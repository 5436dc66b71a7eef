package faults

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/remora-kv/remora/fabric"
)

// Fault is what goes wrong.
type Fault uint8

// The faults; the package doc says what each does to whom.
const (
	Drop Fault = iota + 1
	Delay
	Dup
	Reorder
	Break
	Lose
	Cut
	Slow
	RefuseDial
	RefuseAccept
	numFaults
)

// mask is a set of small numbers: transports, verbs, arguments.
type mask uint16

func (m mask) has(i uint8) bool { return m&(1<<i) != 0 }

// The arguments that a fault can have.
const (
	argRate mask = 1 << iota
	argTime
	argStatus
	argBurst
	argBy
	argQP
	argOp
)

const (
	onRC = 1 << fabric.RC
	onUC = 1 << fabric.UC
	onUD = 1 << fabric.UD
)

// kinds is the table of the faults: name in text, transports, arguments that
// are allowed and those that are needed.
var kinds = [numFaults]struct {
	name       string
	on         mask
	args, need mask
}{
	Drop:         {"drop", onUC | onUD, argRate | argBurst | argQP | argOp, 0},
	Delay:        {"delay", onUC | onUD, argRate | argTime | argQP | argOp, argTime},
	Dup:          {"dup", onUD, argRate | argTime | argQP | argOp, 0},
	Reorder:      {"reorder", onUC | onUD, argRate | argTime | argBy | argQP | argOp, 0},
	Break:        {"break", onRC | onUC | onUD, argRate | argStatus | argQP | argOp, 0},
	Lose:         {"lose", onRC, argRate | argQP | argOp, 0},
	Cut:          {"cut", onRC | onUC | onUD, argQP | argOp, 0},
	Slow:         {"slow", 0, argTime, argTime},
	RefuseDial:   {"dial.refuse", 0, argRate | argOp, 0},
	RefuseAccept: {"accept.refuse", 0, argRate | argOp, 0},
}

// String returns the name used in plans.
func (f Fault) String() string {
	if f > 0 && f < numFaults {
		return kinds[f].name
	}
	return fmt.Sprintf("Fault(%d)", f)
}

// Rate is how often a fault strikes, in millionths. The zero Rate means
// always.
type Rate int32

// The two ends of the scale. Never is written 0%.
const (
	Never  Rate = -1
	Always Rate = 1_000_000
)

// Percent returns the rate of p in a hundred.
func Percent(p float64) Rate {
	if r := Rate(p*10_000 + 0.5); r != 0 {
		return r
	}
	return Never
}

// Span are the numbers from From up to and without To. A To of 0 means
// without end, so the zero Span is all numbers.
type Span struct{ From, To uint64 }

// At is the span of one number.
func At(n uint64) Span { return Span{n, n + 1} }

func (s Span) contains(n uint64) bool { return n >= s.From && (s.To == 0 || n < s.To) }

// Rule is one fault and what it is for. Fields that mean nothing for the fault
// stay zero.
type Rule struct {
	Fault Fault
	// Transports and Verbs are what the rule is for; empty means all that the
	// fault allows.
	Transports []fabric.Transport
	Verbs      []fabric.Op
	// Rate is how often it strikes.
	Rate Rate
	// Time is the duration of Delay, Slow, Dup (how much later the copy is
	// sent) and Reorder (how long the message waits to be overtaken).
	Time time.Duration
	// Status is how a request struck by Break fails; 0 means StatusPeerLost.
	Status fabric.Status
	// Burst makes drops come so many in a row; 0 means 1.
	Burst int
	// By is how many messages overtake a reordered one; 0 means 1.
	By int
	// QPs are the indexes of the queue pairs, Ops the numbers of operations.
	QPs, Ops Span
}

// Plan is what shall go wrong. The zero Plan lets everything pass.
type Plan struct {
	Seed  uint64
	Rules []Rule
}

// defaultWait is how long a reordered message waits to be overtaken.
const defaultWait = 100 * time.Microsecond

// maxBy bounds Rule.By and Rule.Burst.
const maxBy = 1 << 20

// Validate returns all that is wrong with the plan, as one error that wraps
// fabric.ErrInvalid.
func (p *Plan) Validate() error {
	var errs []error
	for i := range p.Rules {
		if err := p.Rules[i].validate(); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("faults: plan: %w", errors.Join(errs...))
}

// args returns the arguments that are set.
func (r *Rule) args() mask {
	var m mask
	for i, set := range [...]bool{
		r.Rate != 0, r.Time != 0, r.Status != 0, r.Burst != 0, r.By != 0, r.QPs != Span{}, r.Ops != Span{},
	} {
		if set {
			m |= 1 << i
		}
	}
	return m
}

var argNames = [...]string{"rate", "duration", "status", "burst", "by", "qp", "op"}

func (r *Rule) validate() error {
	if r.Fault == 0 || r.Fault >= numFaults {
		return fmt.Errorf("fault %d is unknown: %w", r.Fault, fabric.ErrInvalid)
	}
	k := &kinds[r.Fault]
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: "+format+": %w",
			append(append([]any{k.name}, args...), fabric.ErrInvalid)...))
	}
	for _, t := range r.Transports {
		if !k.on.has(uint8(t)) {
			bad("%s", whyNot(r.Fault, t))
		}
	}
	r.validateVerbs(bad)
	args := r.args()
	for i, name := range argNames {
		switch {
		case args.has(uint8(i)) && !k.args.has(uint8(i)):
			bad("takes no %s", name)
		case !args.has(uint8(i)) && k.need.has(uint8(i)):
			bad("needs a %s", name)
		}
	}
	r.validateNumbers(bad)
	return errors.Join(errs...)
}

func (r *Rule) validateVerbs(bad func(string, ...any)) {
	if len(r.Verbs) > 0 && kinds[r.Fault].on == 0 {
		bad("is not for single verbs")
		return
	}
	for _, v := range r.Verbs {
		if !slices.ContainsFunc(r.transports(), func(t fabric.Transport) bool { return t.Allows(v) }) {
			bad("verb %v does not exist on %v", v, r.transports())
		}
	}
}

func (r *Rule) validateNumbers(bad func(string, ...any)) {
	if r.Rate < Never || r.Rate > Always {
		bad("rate of %d millionths, it goes up to %d", r.Rate, Always)
	}
	if r.Time < 0 {
		bad("duration %v is negative", r.Time)
	}
	if r.Burst < 0 || r.Burst > maxBy || r.By < 0 || r.By > maxBy {
		bad("burst %d, by %d: they go from 1 to %d", r.Burst, r.By, maxBy)
	}
	if _, ok := statusNames[r.Status]; !ok && r.Status != fabric.StatusOK {
		bad("a request cannot be made to fail with %q", r.Status)
	}
	for _, s := range [...]Span{r.QPs, r.Ops} {
		if s.To != 0 && s.To <= s.From {
			bad("nothing is in %d..%d", s.From, s.To)
		}
	}
}

// transports returns what the rule is for, in full.
func (r *Rule) transports() []fabric.Transport {
	if len(r.Transports) > 0 {
		return r.Transports
	}
	var all []fabric.Transport
	for t := fabric.RC; t <= fabric.UD; t++ {
		if kinds[r.Fault].on.has(uint8(t)) {
			all = append(all, t)
		}
	}
	return all
}

// whyNot says why a fault cannot be on a transport.
func whyNot(f Fault, t fabric.Transport) string {
	switch {
	case kinds[f].on == 0:
		return "is of the device, not of a transport"
	case t == fabric.RC:
		return "rc is reliable and hides it by retransmission; what its users see are slow, break, lose and cut"
	case f == Dup && t == fabric.UC:
		return "uc never duplicates, as nobody retransmits and it has one path; use ud"
	case f == Lose:
		return fmt.Sprintf("%v requests are not acknowledged, so no answer can be lost; use drop", t)
	}
	return fmt.Sprintf("is not for %v", t)
}

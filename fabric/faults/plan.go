package faults

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/remora-kv/remora/fabric"
)

// Fault is what goes wrong; the package doc says what each does.
type Fault string

// The faults, as written in plans. Cut is what Device.Cut does.
const (
	Drop         Fault = "drop"
	Delay        Fault = "delay"
	Dup          Fault = "dup"
	Reorder      Fault = "reorder"
	Break        Fault = "break"
	Lose         Fault = "lose"
	RefuseDial   Fault = "dial.refuse"
	RefuseAccept Fault = "accept.refuse"
	Cut          Fault = "cut"
)

// kinds are the transports that a fault is for and the arguments that it takes.
var kinds = map[Fault]struct{ transports, args string }{
	Drop:         {"uc ud", "rate burst"},
	Delay:        {"uc ud", "rate duration"},
	Dup:          {"ud", "rate duration"},
	Reorder:      {"uc ud", "rate duration by"},
	Break:        {"rc uc ud", "rate status"},
	Lose:         {"rc", "rate"},
	RefuseDial:   {"", "rate"},
	RefuseAccept: {"", "rate"},
}

// statuses are those that Break can choose.
var statuses = map[string]fabric.Status{
	"lost":     fabric.StatusPeerLost,
	"rnr":      fabric.StatusRNRExceeded,
	"access":   fabric.StatusRemoteAccess,
	"invalid":  fabric.StatusRemoteInvalid,
	"protocol": fabric.StatusProtocol,
}

// defaultWait is how long a reordered message waits to be overtaken.
const defaultWait = 100 * time.Microsecond

// Plan is what shall go wrong. The zero Plan lets everything pass.
type Plan struct {
	seed  uint64
	rules []rule
}

// rule is one fault and the operations that it is for.
type rule struct {
	fault     Fault
	place     int // in the plan
	transport fabric.Transport
	verb      fabric.Op // OpRecv, which nobody posts, means all
	rate      float64
	burst, by int
	time      time.Duration
	status    fabric.Status
	qps, ops  span
}

// span are the numbers from first up to and without end.
type span struct{ first, end uint64 }

func (s span) contains(n uint64) bool { return n >= s.first && n < s.end }

// ParsePlan reads a plan in the notation of the package doc. Errors wrap
// fabric.ErrInvalid and quote the item.
func ParsePlan(text string) (*Plan, error) {
	p := &Plan{}
	for item := range strings.SplitSeq(text, ";") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		if err := p.parse(item); err != nil {
			return nil, fmt.Errorf("faults: %q: %w: %w", item, err, fabric.ErrInvalid)
		}
	}
	return p, nil
}

// parse adds one item to the plan.
func (p *Plan) parse(item string) (err error) {
	if v, ok := strings.CutPrefix(item, "seed="); ok {
		p.seed, err = strconv.ParseUint(v, 10, 64)
		return err
	}
	all := span{0, math.MaxUint64}
	r := rule{
		place: len(p.rules), verb: fabric.OpRecv, rate: 1, burst: 1, by: 1,
		status: fabric.StatusPeerLost, qps: all, ops: all,
	}
	head, where, _ := strings.Cut(item, "@")
	name, args, _ := strings.Cut(head, "=")
	if err := r.parseName(name); err != nil {
		return err
	}
	for _, arg := range list(args) {
		if err := r.parseArg(arg); err != nil {
			return err
		}
	}
	for _, w := range list(where) {
		if err := r.parseWhere(w); err != nil {
			return err
		}
	}
	switch {
	case r.fault == Delay && r.time == 0:
		return errors.New("delay needs a duration, such as 1ms")
	case r.fault == Reorder && r.time == 0:
		r.time = defaultWait
	}
	p.rules = append(p.rules, r)
	return nil
}

func list(s string) []string { return strings.FieldsFunc(s, func(c rune) bool { return c == ',' }) }

// parseName reads transport.fault, transport.verb.fault, or a refusal.
func (r *rule) parseName(name string) error {
	if r.fault = Fault(name); r.fault == RefuseDial || r.fault == RefuseAccept {
		return nil
	}
	parts := strings.Split(name, ".")
	r.fault = Fault(parts[len(parts)-1])
	kind := kinds[r.fault]
	if len(parts) < 2 || len(parts) > 3 || kind.transports == "" {
		return errors.New("want transport.fault or transport.verb.fault with drop, delay, dup, reorder, break or lose, " +
			"or dial.refuse or accept.refuse")
	}
	for t := fabric.RC; t <= fabric.UD; t++ {
		if parts[0] == t.String() && strings.Contains(kind.transports, parts[0]) {
			r.transport = t
			return r.parseVerb(parts[1 : len(parts)-1])
		}
	}
	return fmt.Errorf("%s exists on %s: rc hides loss by retransmission, uc has one path and never duplicates, "+
		"and only rc is acknowledged", r.fault, kind.transports)
}

// parseVerb reads the verb, if there is one.
func (r *rule) parseVerb(names []string) error {
	if len(names) == 0 {
		return nil
	}
	for v := fabric.OpSend; v < fabric.NumOps; v++ {
		if strings.ToLower(v.String()) == names[0] && r.transport.Allows(v) {
			r.verb = v
			return nil
		}
	}
	return fmt.Errorf("%v has no verb %s", r.transport, names[0])
}

// parseArg reads an argument, which is known by its form.
func (r *rule) parseArg(arg string) (err error) {
	kind := "duration"
	name, value, _ := strings.Cut(arg, "=")
	status, isStatus := statuses[arg]
	switch {
	case isStatus:
		kind, r.status = "status", status
	case name == "burst":
		kind = name
		r.burst, err = strconv.Atoi(value)
	case name == "by":
		kind = name
		r.by, err = strconv.Atoi(value)
	case strings.HasSuffix(arg, "%"):
		kind = "rate"
		r.rate, err = strconv.ParseFloat(strings.TrimSuffix(arg, "%"), 64)
		r.rate /= 100
	default:
		r.time, err = time.ParseDuration(arg)
	}
	if err != nil || r.burst < 1 || r.by < 1 || !(r.rate >= 0 && r.rate <= 1) || r.time < 0 {
		return fmt.Errorf("%q is not a rate (0%% to 100%%), a duration (1ms), a status (lost, rnr, access, invalid, protocol), "+
			"burst=N or by=N", arg)
	}
	if !strings.Contains(kinds[r.fault].args, kind) {
		return fmt.Errorf("%s takes no %s", r.fault, kind)
	}
	return nil
}

// parseWhere reads op=N, op=A..B, op=A.. or the same for qp.
func (r *rule) parseWhere(s string) error {
	name, value, _ := strings.Cut(s, "=")
	from, to, isRange := strings.Cut(value, "..")
	first, err := strconv.ParseUint(from, 10, 63)
	at := span{first, first + 1}
	if isRange {
		at.end = math.MaxUint64
	}
	if err == nil && to != "" {
		at.end, err = strconv.ParseUint(to, 10, 63)
	}
	if err != nil || at.end <= first || (name != "op" && name != "qp") {
		return fmt.Errorf("%q is not op=N, op=A..B, op=A.. or qp=N", s)
	}
	if name == "qp" {
		r.qps = at
	} else {
		r.ops = at
	}
	return nil
}

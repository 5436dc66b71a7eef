package faults

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/remora-kv/remora/fabric"
)

// Fault is what goes wrong; the package doc says what each does.
type Fault string

// The faults, as written in plans. Cut is what Device.Cut does.
const (
	Drop    Fault = "drop"
	Delay   Fault = "delay"
	Dup     Fault = "dup"
	Reorder Fault = "reorder"
	Break   Fault = "break"
	Lose    Fault = "lose"
	Shuffle Fault = "shuffle"
	Replay  Fault = "replay"
	Part    Fault = "part"
	Refuse  Fault = "refuse"
	Cut     Fault = "cut"
)

// kinds are what a fault can strike and the arguments that it takes. No verbs are all.
var kinds = map[Fault]struct {
	on, args string
	verbs    []fabric.Op
}{
	Drop:    {on: "uc ud", args: "rate burst"},
	Delay:   {on: "uc ud", args: "rate duration"},
	Dup:     {on: "ud", args: "rate duration"},
	Reorder: {on: "uc ud", args: "rate duration by"},
	Break:   {on: "rc uc ud", args: "rate status"},
	Lose:    {on: "rc", args: "rate"},
	Shuffle: {on: "rc uc", args: "rate duration", verbs: []fabric.Op{fabric.OpRead, fabric.OpWrite}},
	Replay:  {on: "rc", args: "rate duration", verbs: []fabric.Op{fabric.OpRead}},
	Part:    {on: "uc", args: "rate", verbs: []fabric.Op{fabric.OpWrite, fabric.OpWriteImm}},
	Refuse:  {on: "dial accept", args: "rate"},
}

// statuses are those that Break can choose.
var statuses = map[string]fabric.Status{
	"lost":   fabric.StatusPeerLost,
	"rnr":    fabric.StatusRNRExceeded,
	"access": fabric.StatusRemoteAccess,
}

// defaultWait is how long a reordered message waits to be overtaken, and defaultSpread how
// long the lines of an operation are under way at most.
const (
	defaultWait   = 100 * time.Microsecond
	defaultSpread = 10 * time.Microsecond
)

// Plan is what shall go wrong. The zero Plan lets everything pass.
type Plan struct {
	seed  uint64
	rules []rule
}

// rule is one fault and the operations that it is for.
type rule struct {
	fault     Fault
	place     int       // in the plan
	on        string    // a transport, dial or accept
	verb      fabric.Op // OpRecv, which is no verb of Post, means all
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
	for _, item := range split(text, ';') {
		item = strings.TrimSpace(item)
		if err := p.parse(item); err != nil {
			return nil, fmt.Errorf("faults: %q: %w: %w", item, err, fabric.ErrInvalid)
		}
	}
	return p, nil
}

func split(s string, sep rune) []string {
	return strings.FieldsFunc(s, func(c rune) bool { return c == sep })
}

// parse adds one item to the plan.
func (p *Plan) parse(item string) (err error) {
	if item == "" {
		return nil
	}
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
	err = r.parseName(name)
	for _, arg := range split(args, ',') {
		err = cmp.Or(err, r.parseArg(arg))
	}
	for _, w := range split(where, ',') {
		err = cmp.Or(err, r.parseWhere(w))
	}
	switch {
	case err != nil:
		return err
	case r.fault == Delay && r.time == 0:
		return errors.New("delay needs a duration, such as 1ms")
	case r.fault == Reorder && r.time == 0:
		r.time = defaultWait
	case (r.fault == Shuffle || r.fault == Replay) && r.time == 0:
		r.time = defaultSpread
	}
	p.rules = append(p.rules, r)
	return nil
}

// parseName reads transport.fault, transport.verb.fault, dial.refuse or accept.refuse.
func (r *rule) parseName(name string) error {
	parts := strings.Split(name, ".")
	r.on, r.fault = parts[0], Fault(parts[len(parts)-1])
	kind, known := kinds[r.fault]
	switch {
	case !known || len(parts) < 2 || len(parts) > 3:
		return errors.New("want transport.fault or transport.verb.fault with drop, delay, dup, reorder, break, lose, " +
			"shuffle, replay or part, or dial.refuse or accept.refuse")
	case !slices.Contains(strings.Fields(kind.on), r.on):
		return fmt.Errorf("%s exists on %s: rc hides loss by retransmission, uc has one path and never duplicates, "+
			"and only rc is acknowledged", r.fault, kind.on)
	case len(parts) == 2:
		return nil
	}
	for t := fabric.RC; t <= fabric.UD; t++ {
		for v := fabric.OpSend; v < fabric.NumOps; v++ {
			if r.on == t.String() && t.Allows(v) && r.strikes(v) && strings.ToLower(v.String()) == parts[1] {
				r.verb = v
				return nil
			}
		}
	}
	return fmt.Errorf("%s has no verb %s that %s strikes", r.on, parts[1], r.fault)
}

// strikes reports whether the fault can strike a verb.
func (r *rule) strikes(v fabric.Op) bool {
	verbs := kinds[r.fault].verbs
	return len(verbs) == 0 || slices.Contains(verbs, v)
}

// scatters reports whether the rule spreads operations over time (spread).
func (r *rule) scatters() bool { return r != nil && (r.fault == Shuffle || r.fault == Replay) }

// parseArg reads an argument, which is known by its form.
func (r *rule) parseArg(arg string) (err error) {
	kind := "duration"
	name, value, _ := strings.Cut(arg, "=")
	percent, isRate := strings.CutSuffix(arg, "%")
	status, isStatus := statuses[arg]
	switch {
	case isStatus:
		kind, r.status = "status", status
	case isRate:
		kind = "rate"
		r.rate, err = strconv.ParseFloat(percent, 64)
		r.rate /= 100
	case name == "burst":
		kind = name
		r.burst, err = strconv.Atoi(value)
	case name == "by":
		kind = name
		r.by, err = strconv.Atoi(value)
	default:
		r.time, err = time.ParseDuration(arg)
	}
	if err != nil || r.burst < 1 || r.by < 1 || !(r.rate >= 0 && r.rate <= 1) || r.time < 0 {
		return fmt.Errorf("%q is not a rate (0%% to 100%%), a duration (1ms), a status (lost, rnr, access), burst=N or by=N", arg)
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

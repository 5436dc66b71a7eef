package faults

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/remora-kv/remora/fabric"
)

// statusNames are the statuses that Break can choose, as written in plans.
var statusNames = map[fabric.Status]string{
	fabric.StatusPeerLost:      "lost",
	fabric.StatusRNRExceeded:   "rnr",
	fabric.StatusRemoteAccess:  "access",
	fabric.StatusRemoteInvalid: "invalid",
	fabric.StatusProtocol:      "protocol",
}

// ParsePlan reads a plan in the notation of the package doc and validates it.
// Errors wrap fabric.ErrInvalid and name the item.
func ParsePlan(s string) (*Plan, error) {
	p := &Plan{}
	for item := range strings.SplitSeq(s, ";") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		if err := p.parseItem(item); err != nil {
			return nil, fmt.Errorf("faults: %q: %w", item, err)
		}
	}
	return p, nil
}

func (p *Plan) parseItem(item string) error {
	if v, ok := strings.CutPrefix(item, "seed="); ok {
		n, err := number(v)
		p.Seed = n
		return err
	}
	r, err := parseRule(item)
	if err != nil {
		return err
	}
	if err := r.validate(); err != nil {
		return err
	}
	p.Rules = append(p.Rules, r)
	return nil
}

func parseRule(item string) (Rule, error) {
	var r Rule
	rest, where, hasWhere := strings.Cut(item, "@")
	name, args, hasArgs := strings.Cut(rest, "=")
	if err := r.parseName(strings.TrimSpace(name)); err != nil {
		return r, err
	}
	if hasArgs {
		for arg := range strings.SplitSeq(args, ",") {
			if err := r.parseArg(strings.TrimSpace(arg)); err != nil {
				return r, err
			}
		}
	}
	if hasWhere {
		for w := range strings.SplitSeq(where, ",") {
			if err := r.parseWhere(strings.TrimSpace(w)); err != nil {
				return r, err
			}
		}
	}
	return r, nil
}

// parseName reads [transports.[verbs.]]fault.
func (r *Rule) parseName(s string) error {
	for f := Fault(1); f < numFaults; f++ {
		if s == kinds[f].name {
			r.Fault = f
			return nil
		}
	}
	parts := strings.Split(s, ".")
	last := parts[len(parts)-1]
	for f := Fault(1); f < numFaults; f++ {
		if last == kinds[f].name {
			r.Fault = f
		}
	}
	if r.Fault == 0 {
		return fmt.Errorf("fault %q is unknown; there are drop, delay, dup, reorder, break, lose, cut, slow, "+
			"dial.refuse and accept.refuse: %w", last, fabric.ErrInvalid)
	}
	if len(parts) > 3 {
		return fmt.Errorf("write transport.verb.fault: %w", fabric.ErrInvalid)
	}
	if err := r.parseTransports(parts[0]); err != nil {
		return err
	}
	if len(parts) == 3 {
		return r.parseVerbs(parts[1])
	}
	return nil
}

func (r *Rule) parseTransports(s string) error {
	var seen mask
	for name := range strings.SplitSeq(s, "+") {
		i := -1
		for t := fabric.RC; t <= fabric.UD; t++ {
			if t.String() == name && !seen.has(uint8(t)) {
				i = int(t)
			}
		}
		if i < 0 {
			return fmt.Errorf("transport %q is unknown or named twice; there are rc, uc and ud: %w", name, fabric.ErrInvalid)
		}
		seen |= 1 << i
		r.Transports = append(r.Transports, fabric.Transport(i))
	}
	return nil
}

func (r *Rule) parseVerbs(s string) error {
	var seen mask
	for name := range strings.SplitSeq(s, "+") {
		i := -1
		for v := fabric.OpSend; v < fabric.NumOps; v++ {
			if v != fabric.OpRecv && strings.ToLower(v.String()) == name && !seen.has(uint8(v)) {
				i = int(v)
			}
		}
		if i < 0 {
			return fmt.Errorf("verb %q is unknown or named twice; there are send, write, write_imm, read, "+
				"fetch_add and cmp_swap: %w", name, fabric.ErrInvalid)
		}
		seen |= 1 << i
		r.Verbs = append(r.Verbs, fabric.Op(i))
	}
	return nil
}

// parseArg reads an argument, which is known by its form.
func (r *Rule) parseArg(s string) error {
	if v, ok := strings.CutSuffix(s, "%"); ok {
		return once(&r.Rate, s, func() (Rate, error) { return parseRate(v) })
	}
	if v, ok := strings.CutPrefix(s, "burst="); ok {
		return once(&r.Burst, s, func() (int, error) { return small(v) })
	}
	if v, ok := strings.CutPrefix(s, "by="); ok {
		return once(&r.By, s, func() (int, error) { return small(v) })
	}
	for st, name := range statusNames {
		if s == name {
			return once(&r.Status, s, func() (fabric.Status, error) { return st, nil })
		}
	}
	return once(&r.Time, s, func() (time.Duration, error) {
		d, err := time.ParseDuration(s)
		if err != nil || d <= 0 {
			return 0, fmt.Errorf("%q is no argument; write a rate (1%%), a duration (1ms), a status "+
				"(lost, rnr, access, invalid, protocol), burst=N or by=N: %w", s, fabric.ErrInvalid)
		}
		return d, nil
	})
}

// once stores what get returns in dst, unless it was stored before.
func once[T comparable](dst *T, text string, get func() (T, error)) error {
	var zero T
	if *dst != zero {
		return fmt.Errorf("%q is the second of its kind: %w", text, fabric.ErrInvalid)
	}
	v, err := get()
	*dst = v
	return err
}

func (r *Rule) parseWhere(s string) error {
	if v, ok := strings.CutPrefix(s, "op="); ok {
		return once(&r.Ops, s, func() (Span, error) { return parseSpan(v) })
	}
	if v, ok := strings.CutPrefix(s, "qp="); ok {
		return once(&r.QPs, s, func() (Span, error) { return parseSpan(v) })
	}
	return fmt.Errorf("%q is no place; write op=N, op=A..B or qp=N: %w", s, fabric.ErrInvalid)
}

func parseSpan(s string) (Span, error) {
	from, to, isRange := strings.Cut(s, "..")
	a, err := number(from)
	if err != nil {
		return Span{}, err
	}
	if !isRange {
		return At(a), nil
	}
	if to == "" {
		return Span{From: a}, nil
	}
	b, err := number(to)
	if err == nil && b <= a {
		err = fmt.Errorf("nothing is in %s: %w", s, fabric.ErrInvalid)
	}
	return Span{a, b}, err
}

// parseRate reads a percentage, exactly.
func parseRate(s string) (Rate, error) {
	whole, frac, _ := strings.Cut(s, ".")
	w, err := strconv.ParseUint(whole, 10, 32)
	if err != nil || len(frac) > 4 || w > 100 {
		return 0, rateError(s)
	}
	f, err := strconv.ParseUint(frac+"0000"[len(frac):], 10, 32)
	r := Rate(w*10_000 + f)
	if err != nil || r > Always {
		return 0, rateError(s)
	}
	if r == 0 {
		return Never, nil
	}
	return r, nil
}

func rateError(s string) error {
	return fmt.Errorf("rate %q%%: write 0%% to 100%%, with at most four digits after the point: %w", s, fabric.ErrInvalid)
}

func number(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || (n == 1<<64-1) {
		return 0, fmt.Errorf("number %q: %w", s, fabric.ErrInvalid)
	}
	return n, nil
}

func small(s string) (int, error) {
	n, err := number(s)
	if err == nil && (n < 1 || n > maxBy) {
		err = fmt.Errorf("%s is not in 1 to %d: %w", s, maxBy, fabric.ErrInvalid)
	}
	return int(n), err
}

// String returns the plan in the notation of ParsePlan, which reads it back.
func (p *Plan) String() string {
	var b strings.Builder
	b.WriteString("seed=")
	b.WriteString(strconv.FormatUint(p.Seed, 10))
	for i := range p.Rules {
		b.WriteString("; ")
		b.WriteString(p.Rules[i].String())
	}
	return b.String()
}

// String returns the rule as written in a plan.
func (r *Rule) String() string {
	var b strings.Builder
	if len(r.Transports) > 0 || len(r.Verbs) > 0 {
		// Verbs cannot stand without transports in text; naming all that the
		// fault allows means the same.
		b.WriteString(joined(r.transports(), fabric.Transport.String))
		b.WriteByte('.')
	}
	if len(r.Verbs) > 0 {
		b.WriteString(strings.ToLower(joined(r.Verbs, fabric.Op.String)))
		b.WriteByte('.')
	}
	b.WriteString(r.Fault.String())
	writeList(&b, '=', r.argTexts())
	var where []string
	if r.QPs != (Span{}) {
		where = append(where, "qp="+r.QPs.String())
	}
	if r.Ops != (Span{}) {
		where = append(where, "op="+r.Ops.String())
	}
	writeList(&b, '@', where)
	return b.String()
}

func (r *Rule) argTexts() []string {
	var args []string
	if r.Rate != 0 {
		args = append(args, r.Rate.String())
	}
	if r.Time != 0 {
		args = append(args, r.Time.String())
	}
	if r.Status != 0 {
		args = append(args, statusNames[r.Status])
	}
	if r.Burst != 0 {
		args = append(args, "burst="+strconv.Itoa(r.Burst))
	}
	if r.By != 0 {
		args = append(args, "by="+strconv.Itoa(r.By))
	}
	return args
}

func writeList(b *strings.Builder, lead byte, items []string) {
	if len(items) > 0 {
		b.WriteByte(lead)
		b.WriteString(strings.Join(items, ","))
	}
}

func joined[T any](items []T, name func(T) string) string {
	names := make([]string, len(items))
	for i, it := range items {
		names[i] = name(it)
	}
	return strings.Join(names, "+")
}

// String returns the rate as a percentage.
func (r Rate) String() string {
	n := r
	switch {
	case r == 0:
		n = Always
	case r < 0:
		return "0%"
	}
	s := fmt.Sprintf("%d.%04d", n/10_000, n%10_000)
	return strings.TrimRight(strings.TrimRight(s, "0"), ".") + "%"
}

// String returns the span as written in a plan.
func (s Span) String() string {
	from := strconv.FormatUint(s.From, 10)
	switch s.To {
	case 0:
		return from + ".."
	case s.From + 1:
		return from
	}
	return from + ".." + strconv.FormatUint(s.To, 10)
}

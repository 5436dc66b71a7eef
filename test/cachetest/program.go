package cachetest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// Step is a step of a program: an operation, or time that passes.
type Step struct {
	Call Call
	// Ref is the step whose outcome has the version of Call; -1: Call has it.
	Ref int
	// Advance is time that passes, instead of Call.
	Advance time.Duration
}

// noVersion is a version that is never given.
const noVersion = 1<<48 - 1

// programKeys are the keys of programs: of all lengths, and of any bytes.
func programKeys() []string {
	return []string{
		"", "k", "counter", "another counter", "\x00\xff\n", strings.Repeat("long ", 100),
		strings.Repeat("longer than a frame ", 150), "seven", "eight",
	}
}

// Program makes a program of n steps from a seed. Values have at most maxValue
// bytes.
func Program(seed uint64, n, maxValue int) []Step {
	p := &programmer{rng: rand.New(rand.NewPCG(seed, 0)), keys: programKeys(), maxValue: maxValue, last: map[string]int{}}
	for len(p.steps) < n {
		p.steps = append(p.steps, p.next())
	}
	return p.steps
}

type programmer struct {
	rng      *rand.Rand
	keys     []string
	maxValue int
	steps    []Step
	last     map[string]int // step of each key that may tell a version
}

func (p *programmer) next() Step {
	if p.rng.IntN(24) == 0 {
		return Step{Ref: -1, Advance: time.Duration(1+p.rng.IntN(200)) * time.Millisecond}
	}
	s := Step{Ref: -1, Call: Call{Kind: Kind(p.rng.IntN(int(numKinds))), Key: p.keys[p.rng.IntN(len(p.keys))]}}
	c := &s.Call
	before, seen := p.last[c.Key]
	switch c.Kind {
	case Get:
		p.last[c.Key] = len(p.steps)
	case Set, Add, Replace, CAS:
		p.fill(c)
		p.last[c.Key] = len(p.steps)
	case Incr:
		c.Delta = p.rng.Int64N(2000) - 1000
	case Touch:
		c.TTL = p.ttl()
	case Delete, DeleteVersion:
	default:
	}
	if c.Kind == CAS || c.Kind == DeleteVersion {
		if s.Ref = -1; seen && p.rng.IntN(8) != 0 {
			s.Ref = before
		} else {
			c.Version = noVersion
		}
	}
	return s
}

// fill makes what a call stores.
func (p *programmer) fill(c *Call) {
	c.TTL = p.ttl()
	if p.rng.IntN(3) == 0 {
		c.Flags = p.rng.Uint32()
	}
	if strings.Contains(c.Key, "counter") && p.rng.IntN(8) != 0 {
		c.Value = strconv.FormatInt(p.rng.Int64(), 10)
		return
	}
	// Sizes are around those of frames and of answers that are pushed.
	edges := []int{0, 1, 30, 200, 2000, 2040, 2048, 2060, 4096, 8150, 8192, 8200, 20_000, p.maxValue}
	size := min(edges[p.rng.IntN(len(edges))]+p.rng.IntN(8), p.maxValue)
	unit := fmt.Appendf(nil, "%d:%x ", len(p.steps), p.rng.Uint64())
	c.Value = string(bytes.Repeat(unit, size/len(unit)+1)[:size])
}

// ttl is none, one that runs out in the course of the program, or a long one.
func (p *programmer) ttl() time.Duration {
	switch p.rng.IntN(6) {
	case 0:
		return time.Duration(1+p.rng.IntN(1000)) * time.Millisecond
	case 1:
		return time.Duration(1+p.rng.IntN(1000)) * time.Hour
	}
	return 0
}

// ready returns the call of a step, with the version that an earlier step told.
func (s *Step) ready(outcomes []Outcome) Call {
	c := s.Call
	if s.Ref >= 0 {
		if c.Version = outcomes[s.Ref].Version; c.Version == 0 {
			c.Version = noVersion
		}
	}
	return c
}

// Run runs a program, one operation after the other. The outcome of time that
// passes is the zero one.
func Run(ctx context.Context, program []Step, cache Cache, advance func(time.Duration)) []Outcome {
	outcomes := make([]Outcome, len(program))
	for i := range program {
		if s := &program[i]; s.Advance != 0 {
			advance(s.Advance)
		} else {
			c := s.ready(outcomes)
			outcomes[i] = cache.Do(ctx, &c)
		}
	}
	return outcomes
}

// RunAhead is Run with up to depth operations in flight. It waits for an outcome
// that a later step needs.
func RunAhead(ctx context.Context, program []Step, p Pipe, depth int, advance func(time.Duration)) []Outcome {
	outcomes, done := make([]Outcome, len(program)), make([]bool, len(program))
	take := func() {
		tag, o := p.Next(ctx)
		outcomes[tag], done[tag] = o, true
	}
	for i := range program {
		s := &program[i]
		for p.Pending() >= depth || s.Advance != 0 && p.Pending() > 0 || s.Ref >= 0 && !done[s.Ref] {
			take()
		}
		if s.Advance != 0 {
			advance(s.Advance)
			continue
		}
		c := s.ready(outcomes)
		p.Start(ctx, uint64(i), &c)
	}
	for p.Pending() > 0 {
		take()
	}
	return outcomes
}

// Renumber writes the outcomes of a program on lines, with versions replaced by
// their order within the key. Versions that did not grow from write to write are
// an error.
func Renumber(program []Step, outcomes []Outcome) ([]string, error) {
	lines := make([]string, len(program))
	ranks, last := map[string]map[uint64]uint64{}, map[string]uint64{}
	for i := range program {
		c, o := program[i].Call, outcomes[i]
		if program[i].Advance != 0 {
			lines[i] = fmt.Sprintf("%d: %v passes", i, program[i].Advance)
			continue
		}
		if c.Kind == Incr {
			o.Version = 0 // not every client tells it
		}
		if o.Status == OK && o.Version != 0 {
			known := ranks[c.Key]
			if known == nil {
				known = map[uint64]uint64{}
				ranks[c.Key] = known
			}
			if known[o.Version] == 0 {
				if o.Version <= last[c.Key] {
					return nil, fmt.Errorf("step %d: %v gave version %d after %d", i, c, o.Version, last[c.Key])
				}
				known[o.Version], last[c.Key] = uint64(len(known)+1), o.Version
			}
			o.Version = known[o.Version]
		}
		lines[i] = fmt.Sprintf("%d: %v -> %v", i, c, o)
		if o.Value != "" {
			lines[i] += fmt.Sprintf(" %016x", fingerprint(o.Value))
		}
	}
	return lines, nil
}

// fingerprint tells long values apart that look alike on a line.
func fingerprint(value string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(value) {
		h = (h ^ uint64(value[i])) * 1099511628211
	}
	return h
}

// Difference returns the first line in which two runs differ, or "".
func Difference(a, b []string) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("%s\ninstead of\n%s", b[i], a[i])
		}
	}
	if len(a) != len(b) {
		return fmt.Sprintf("%d outcomes instead of %d", len(b), len(a))
	}
	return ""
}

package cachetest_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/remora-kv/remora/test/cachetest"
)

// mapPipe is a Pipe over a map that answers late.
type mapPipe struct {
	m     *mapCache
	calls []cachetest.Call
	tags  []uint64
}

func (p *mapPipe) Start(_ context.Context, tag uint64, c *cachetest.Call) {
	p.calls, p.tags = append(p.calls, *c), append(p.tags, tag)
}

func (p *mapPipe) Next(ctx context.Context) (uint64, cachetest.Outcome) {
	c, tag := p.calls[0], p.tags[0]
	p.calls, p.tags = p.calls[1:], p.tags[1:]
	return tag, p.m.Do(ctx, &c)
}

func (p *mapPipe) Pending() int { return len(p.calls) }

// lasting takes the times to live out of a program, which a map knows nothing of.
func lasting(program []cachetest.Step) []cachetest.Step {
	for i := range program {
		program[i].Call.TTL = 0
	}
	return program
}

func TestProgramsAreTheSameForASeed(t *testing.T) {
	a, b, c := cachetest.Program(1, 300, 1<<16), cachetest.Program(1, 300, 1<<16), cachetest.Program(2, 300, 1<<16)
	if !slices.Equal(a, b) || slices.Equal(a, c) {
		t.Error("a program does not follow from its seed")
	}
	kinds := map[cachetest.Kind]int{}
	advances, refs := 0, 0
	for _, s := range a {
		if s.Advance != 0 {
			advances++
			continue
		}
		kinds[s.Call.Kind]++
		if s.Ref >= 0 {
			refs++
		}
	}
	if len(kinds) != 9 || advances == 0 || refs == 0 {
		t.Errorf("kinds %v, %d advances, %d versions of earlier steps", kinds, advances, refs)
	}
}

// Two maps that count versions differently have equal runs, however many
// operations are on their way.
func TestEqualRuns(t *testing.T) {
	program := lasting(cachetest.Program(3, 400, 1<<14))
	ctx, still := context.Background(), func(time.Duration) {}
	one, err := cachetest.Renumber(program, cachetest.Run(ctx, program, newMapCache(), still))
	if err != nil {
		t.Fatal(err)
	}
	m := newMapCache()
	m.version = 1 << 40
	two, err := cachetest.Renumber(program, cachetest.RunAhead(ctx, program, &mapPipe{m: m}, 7, still))
	if err != nil {
		t.Fatal(err)
	}
	if d := cachetest.Difference(one, two); d != "" {
		t.Error(d)
	}
}

// A run on a cache that does something else differs.
func TestDifferentRuns(t *testing.T) {
	program := lasting(cachetest.Program(4, 400, 1<<14))
	ctx, still := context.Background(), func(time.Duration) {}
	one, err := cachetest.Renumber(program, cachetest.Run(ctx, program, newMapCache(), still))
	if err != nil {
		t.Fatal(err)
	}
	flawed := newMapCache()
	flawed.flaw = func(m *mapCache, c *cachetest.Call) (o cachetest.Outcome, is bool) {
		return o, m.n == 200
	}
	two, err := cachetest.Renumber(program, cachetest.Run(ctx, program, flawed, still))
	if err == nil && cachetest.Difference(one, two) == "" {
		t.Error("no difference")
	}
	if cachetest.Difference(one, one[:10]) == "" {
		t.Error("a run that is shorter does not differ")
	}
	goesBack := newMapCache()
	goesBack.flaw = func(m *mapCache, _ *cachetest.Call) (o cachetest.Outcome, is bool) {
		if m.n == 200 {
			m.version = 0
		}
		return o, false
	}
	if _, err := cachetest.Renumber(program, cachetest.Run(ctx, program, goesBack, still)); err == nil {
		t.Error("versions that go back are not noticed")
	}
}

// Histories of pipes are as good as those of callers.
func TestWorkAhead(t *testing.T) {
	h := &cachetest.History{}
	p := &mapPipe{m: newMapCache()}
	cachetest.WorkAhead(context.Background(), p, h, cachetest.NewSource(1, 0, cachetest.Keys(2)), 200, 8)
	if len(h.Operations()) != 200 || h.Count(cachetest.Unknown) != 0 {
		t.Errorf("%d operations, %d without an end", len(h.Operations()), h.Count(cachetest.Unknown))
	}
	cachetest.Linearizable(t, h.Operations())
}

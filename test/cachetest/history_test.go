package cachetest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/remora-kv/remora/test/cachetest"
)

func (m *mapCache) incr(c *cachetest.Call, item mapItem) cachetest.Outcome {
	n, err := strconv.ParseInt(item.value, 10, 64)
	if err != nil {
		return cachetest.Outcome{Status: cachetest.NotNumber}
	}
	m.put(c.Key, strconv.FormatInt(n+c.Delta, 10))
	return cachetest.Outcome{Sum: n + c.Delta}
}

// op writes an operation of a made-up history; end 0 is never.
func op(start, end int64, c cachetest.Call, o cachetest.Outcome) cachetest.Operation {
	if c.Key == "" {
		c.Key = "k"
	}
	return cachetest.Operation{Call: c, Outcome: o, Start: start, End: end}
}

func get(value string, version uint64) (cachetest.Call, cachetest.Outcome) {
	return cachetest.Call{Kind: cachetest.Get}, cachetest.Outcome{Value: value, Version: version}
}

func miss() (cachetest.Call, cachetest.Outcome) {
	return cachetest.Call{Kind: cachetest.Get}, cachetest.Outcome{Status: cachetest.NotFound}
}

func set(value string, version uint64) (cachetest.Call, cachetest.Outcome) {
	return cachetest.Call{Kind: cachetest.Set, Value: value}, cachetest.Outcome{Version: version}
}

func lost(c cachetest.Call, s cachetest.Status) (cachetest.Call, cachetest.Outcome) {
	return c, cachetest.Outcome{Status: s}
}

func cas(value string, from uint64, o cachetest.Outcome) (cachetest.Call, cachetest.Outcome) {
	return cachetest.Call{Kind: cachetest.CAS, Value: value, Version: from}, o
}

// at puts an operation at its time: at(1, 2)(set("a", 1)).
func at(start, end int64) func(cachetest.Call, cachetest.Outcome) cachetest.Operation {
	return func(c cachetest.Call, o cachetest.Outcome) cachetest.Operation { return op(start, end, c, o) }
}

func TestCheck(t *testing.T) {
	setB := cachetest.Call{Kind: cachetest.Set, Value: "b"}
	incr := cachetest.Call{Kind: cachetest.Incr, Delta: 1}
	del := cachetest.Call{Kind: cachetest.Delete}
	for name, c := range map[string]struct {
		ok  bool
		ops []cachetest.Operation
	}{
		"one after the other": {true, []cachetest.Operation{at(1, 2)(miss()), at(3, 4)(set("a", 7)), at(5, 6)(get("a", 7))}},
		"at the same time":    {true, []cachetest.Operation{at(1, 9)(set("a", 7)), at(2, 3)(miss()), at(4, 5)(get("a", 7))}},
		"of two keys": {true, []cachetest.Operation{
			at(1, 2)(set("a", 7)), op(3, 4, cachetest.Call{Kind: cachetest.Get, Key: "other"}, cachetest.Outcome{Status: cachetest.NotFound}),
		}},
		"a lost write":             {false, []cachetest.Operation{at(1, 2)(set("a", 7)), at(3, 4)(miss())}},
		"a stale value":            {false, []cachetest.Operation{at(1, 2)(set("a", 7)), at(3, 4)(set("b", 8)), at(5, 6)(get("a", 7))}},
		"back and forth":           {false, []cachetest.Operation{at(1, 9)(set("a", 7)), at(2, 3)(get("a", 7)), at(4, 5)(miss())}},
		"another version":          {false, []cachetest.Operation{at(1, 2)(set("a", 7)), at(3, 4)(get("a", 8))}},
		"a version that goes back": {false, []cachetest.Operation{at(1, 2)(set("a", 7)), at(3, 4)(set("b", 6))}},
		"a value from nowhere":     {false, []cachetest.Operation{at(1, 2)(get("a", 7))}},
		"unknown, and it happened": {true, []cachetest.Operation{
			at(1, 2)(set("a", 7)), at(3, 4)(lost(setB, cachetest.Unknown)), at(5, 6)(get("b", 9)), at(7, 8)(get("b", 9)),
		}},
		"unknown, and it did not":    {true, []cachetest.Operation{at(1, 2)(set("a", 7)), at(3, 4)(lost(setB, cachetest.Unknown)), at(5, 6)(get("a", 7))}},
		"unknown, and it comes late": {true, []cachetest.Operation{at(1, 2)(lost(setB, cachetest.Unknown)), at(3, 4)(miss()), at(5, 6)(get("b", 7))}},
		"unknown, and it happens twice": {false, []cachetest.Operation{
			at(1, 2)(lost(setB, cachetest.Unknown)), at(3, 4)(get("b", 7)), at(5, 6)(set("a", 8)), at(7, 8)(get("b", 9)),
		}},
		"seen before it began":        {false, []cachetest.Operation{at(1, 2)(get("b", 7)), at(3, 4)(lost(setB, cachetest.Unknown))}},
		"unavailable, and it was not": {true, []cachetest.Operation{at(1, 2)(lost(setB, cachetest.Unavailable)), at(3, 4)(miss())}},
		"unavailable, and yet there":  {false, []cachetest.Operation{at(1, 2)(lost(setB, cachetest.Unavailable)), at(3, 4)(get("b", 7))}},
		"failed":                      {false, []cachetest.Operation{at(1, 2)(lost(setB, cachetest.Failed))}},
		"a change of a version":       {true, []cachetest.Operation{at(1, 2)(set("a", 7)), at(3, 4)(cas("b", 7, cachetest.Outcome{Version: 8})), at(5, 6)(get("b", 8))}},
		"a change of a version twice": {false, []cachetest.Operation{
			at(1, 2)(set("a", 7)), at(3, 9)(cas("b", 7, cachetest.Outcome{Version: 8})), at(3, 9)(cas("c", 7, cachetest.Outcome{Version: 9})),
		}},
		"a change refused without reason": {false, []cachetest.Operation{
			at(1, 2)(set("a", 7)), at(3, 4)(cas("b", 7, cachetest.Outcome{Status: cachetest.Changed})),
		}},
		"a sum": {true, []cachetest.Operation{
			at(1, 2)(set("5", 7)), op(3, 4, incr, cachetest.Outcome{Sum: 6}), at(5, 6)(get("6", 8)), at(7, 8)(cas("b", 8, cachetest.Outcome{Version: 9})),
		}},
		"a sum with its version": {true, []cachetest.Operation{
			at(1, 2)(set("5", 7)), op(3, 4, incr, cachetest.Outcome{Sum: 6, Version: 8}), at(7, 8)(cas("b", 8, cachetest.Outcome{Version: 9})),
		}},
		"a sum with an old version": {false, []cachetest.Operation{at(1, 2)(set("5", 7)), op(3, 4, incr, cachetest.Outcome{Sum: 6, Version: 6})}},
		"a sum that was lost": {false, []cachetest.Operation{
			at(1, 2)(set("5", 7)), op(3, 4, incr, cachetest.Outcome{Sum: 6}), op(5, 6, incr, cachetest.Outcome{Sum: 6}),
		}},
		"deleted": {true, []cachetest.Operation{
			at(1, 2)(set("a", 7)), op(3, 4, del, cachetest.Outcome{}), at(5, 6)(miss()),
			op(7, 8, del, cachetest.Outcome{Status: cachetest.NotFound}), at(9, 10)(set("b", 8)),
		}},
		"deleted, and back": {false, []cachetest.Operation{at(1, 2)(set("a", 7)), op(3, 4, del, cachetest.Outcome{}), at(5, 6)(get("a", 7))}},
	} {
		t.Run(name, func(t *testing.T) {
			err := cachetest.Check(c.ops)
			var v *cachetest.Violation
			if c.ok && err != nil || !c.ok && !errors.As(err, &v) {
				t.Error(err)
			}
		})
	}
}

// work has clients work on a cache, and returns the history.
func work(seed uint64, m *mapCache) *cachetest.History {
	const clients, each, keys = 6, 80, 3
	h := &cachetest.History{}
	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			cachetest.Work(context.Background(), m, h, cachetest.NewSource(seed, client, cachetest.Keys(keys)), each)
		})
	}
	wg.Wait()
	return h
}

func TestAMapIsLinearizable(t *testing.T) {
	for seed := range uint64(20) {
		h := work(seed, newMapCache())
		if err := cachetest.Check(h.Operations()); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// The checker notices what no cache may do (H4).
func TestFlawsAreNoticed(t *testing.T) {
	seldom := func(m *mapCache) bool { return m.n%9 == 0 }
	for name, flaw := range map[string]func(*mapCache, *cachetest.Call) (cachetest.Outcome, bool){
		"an acknowledged write is lost": func(m *mapCache, c *cachetest.Call) (o cachetest.Outcome, is bool) {
			if c.Kind != cachetest.Set || !seldom(m) {
				return o, false
			}
			m.version++
			return cachetest.Outcome{Version: m.version}, true
		},
		"a condition is met twice": func(m *mapCache, c *cachetest.Call) (o cachetest.Outcome, is bool) {
			if c.Kind != cachetest.CAS || m.old[c.Key].version != c.Version || m.items[c.Key].version == 0 {
				return o, false
			}
			return m.put(c.Key, c.Value), true
		},
		"an old value comes back": func(m *mapCache, c *cachetest.Call) (o cachetest.Outcome, is bool) {
			old := m.old[c.Key]
			if c.Kind != cachetest.Get || !seldom(m) || old.version == 0 {
				return o, false
			}
			return cachetest.Outcome{Value: old.value, Version: old.version}, true
		},
		"a sum is added twice": func(m *mapCache, c *cachetest.Call) (o cachetest.Outcome, is bool) {
			if c.Kind == cachetest.Incr && seldom(m) {
				m.do(c)
			}
			return o, false
		},
		"a write that was refused happens": func(m *mapCache, c *cachetest.Call) (o cachetest.Outcome, is bool) {
			if c.Kind != cachetest.Add || m.items[c.Key].version == 0 {
				return o, false
			}
			m.put(c.Key, c.Value)
			return cachetest.Outcome{Status: cachetest.Exists}, true
		},
		"what is unavailable happens": func(m *mapCache, c *cachetest.Call) (o cachetest.Outcome, is bool) {
			if c.Kind != cachetest.Set || !seldom(m) {
				return o, false
			}
			m.put(c.Key, c.Value)
			return cachetest.Outcome{Status: cachetest.Unavailable}, true
		},
	} {
		t.Run(name, func(t *testing.T) {
			// Whether a history shows a flaw is a matter of timing: what was put in vain
			// may be written over before anybody looks. So most of them have to.
			const seeds = 9
			noticed := 0
			for seed := range uint64(seeds) {
				m := newMapCache()
				m.flaw = flaw
				if cachetest.Check(work(seed, m).Operations()) != nil {
					noticed++
				}
			}
			if noticed <= seeds/2 {
				t.Errorf("noticed in %d of %d histories", noticed, seeds)
			}
		})
	}
}

// Operations whose outcome is unknown, of which a half has happened.
func TestUnknownOperationsAreExplained(t *testing.T) {
	for seed := range uint64(20) {
		m := newMapCache()
		m.flaw = func(m *mapCache, c *cachetest.Call) (cachetest.Outcome, bool) {
			if m.n%25 != 0 {
				return cachetest.Outcome{}, false
			}
			if m.n%50 == 0 {
				m.do(c)
			}
			return cachetest.Outcome{Status: cachetest.Unknown}, true
		}
		h := work(seed, m)
		if err := cachetest.Check(h.Operations()); err != nil || h.Count(cachetest.Unknown) == 0 {
			t.Errorf("seed %d: %d unknown, %v", seed, h.Count(cachetest.Unknown), err)
		}
	}
}

// A history that went through a pipe is the same, and one that was cut off has
// operations without an end.
func TestHistoriesTravel(t *testing.T) {
	var pipe bytes.Buffer
	w := cachetest.NewWriter(&pipe)
	cachetest.Work(context.Background(), newMapCache(), w, cachetest.NewSource(1, 3, cachetest.Keys(2)), 50)
	if w.Err() != nil {
		t.Fatal(w.Err())
	}
	text := pipe.String()
	whole := &cachetest.History{}
	lines := 0
	if err := whole.Read(strings.NewReader(text), func() { lines++ }); err != nil || len(whole.Operations()) != 50 || lines != 100 {
		t.Fatalf("%d operations, %d lines, %v", len(whole.Operations()), lines, err)
	}
	cachetest.Linearizable(t, whole.Operations())
	for _, o := range whole.Operations() {
		if o.Client != 3 || o.Start > o.End || o.Outcome.Status == cachetest.Unknown {
			t.Errorf("%v", &o)
		}
	}
	// The last end is cut off.
	cut := &cachetest.History{}
	if err := cut.Read(strings.NewReader(text[:len(text)-5]), nil); err != nil {
		t.Fatal(err)
	}
	if n := cut.Count(cachetest.Unknown); n != 1 || len(cut.Operations()) != 50 {
		t.Errorf("%d of %d operations have no end", n, len(cut.Operations()))
	}
	for _, bad := range []string{`{"n":7,"at":1,"outcome":{"status":0}}`, "nonsense"} {
		if err := new(cachetest.History).Read(strings.NewReader(bad), nil); err == nil {
			t.Errorf("%s is taken for a history", bad)
		}
	}
}

func TestViolationsTell(t *testing.T) {
	ops := []cachetest.Operation{at(1, 2)(set("a", 7)), at(3, 4)(miss())}
	err := cachetest.Check(ops)
	for _, words := range []string{"key k", `set(k, "a") -> ok version 7`, "get(k) -> not found", "1..2"} {
		if !strings.Contains(fmt.Sprint(err), words) {
			t.Errorf("%q is not in: %v", words, err)
		}
	}
}

// wide returns a history of one key whose operations happen in an order, each in an
// interval in which about so many others happen. Of some the outcome is not known.
func wide(seed uint64, n, others int) []cachetest.Operation {
	const step = 100
	rng := rand.New(rand.NewPCG(seed, 0))
	m, s := newMapCache(), cachetest.NewSource(seed, 0, cachetest.Keys(1))
	var ops []cachetest.Operation
	for i := range n {
		c := s.Next()
		o := m.do(&c)
		unknown := i%100 == 99
		if !unknown {
			s.Learn(&c, &o)
		}
		at := int64((i + others) * step)
		op := cachetest.Operation{
			Client: i, Call: c, Outcome: o,
			Start: at - rng.Int64N(int64(others*step)), End: at + rng.Int64N(int64(others*step)),
		}
		if unknown {
			op.Outcome, op.End = cachetest.Outcome{Status: cachetest.Unknown}, math.MaxInt64
		}
		ops = append(ops, op)
	}
	return ops
}

// Clients on one key, each of which waits long for its answers.
func TestManyClientsAreExplained(t *testing.T) {
	for seed := range uint64(5) {
		if err := cachetest.Check(wide(seed, 2000, 40)); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// And so it is noticed soon where there is no order.
func TestFlawsOfManyClientsAreNoticed(t *testing.T) {
	for seed := range uint64(5) {
		ops := wide(seed, 1000, 16)
		for i := len(ops) / 2; ; i++ {
			if o := &ops[i]; o.Call.Kind == cachetest.Get && o.Outcome.Status == cachetest.OK {
				o.Outcome.Value = "never stored"
				break
			}
		}
		var v *cachetest.Violation
		if err := cachetest.Check(ops); !errors.As(err, &v) || !strings.Contains(v.Why, "no order of these") {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

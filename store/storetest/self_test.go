package storetest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/lru8"
	"github.com/remora-kv/remora/test/scale"
)

// excused are the cases that the plain engine cannot pass.
var excused = []string{"S6/allocs/", "S6/allocs-full/", "S4/heap/", "S1/64MiB/"}

// TestPlain runs the suite on the plain engine.
func TestPlain(t *testing.T) {
	for _, c := range allCases() {
		if !slices.ContainsFunc(excused, func(e string) bool { return strings.HasPrefix(c.name, e) }) {
			t.Run(c.name, func(t *testing.T) { runCase(t, c, plainEngine, Options{}.complete(t)) })
		}
	}
}

// TestLimited runs the suite on the plain engine with limits, and items of
// one size.
func TestLimited(t *testing.T) {
	engine := plainEngine
	engine.MaxKey, engine.MaxValue, engine.Cell = 111, 800, 1024
	engine.New = func(cfg store.Config) (store.Partition, error) {
		p, err := newPlain(cfg)
		if err != nil {
			return nil, err
		}
		p.cost = 1024
		return &putter{wrapper{p}, func(_ store.Partition, k store.Key, e store.Entry, c store.Condition, now int64) (uint64, error) {
			if len(k.Bytes) > 111 || len(e.Value) > 800 {
				return 0, store.ErrTooLarge
			}
			return p.Put(k, e, c, now)
		}}, nil
	}
	for _, c := range allCases() {
		if !slices.ContainsFunc(excused, func(e string) bool { return strings.HasPrefix(c.name, e) }) {
			t.Run(c.name, func(t *testing.T) { runCase(t, c, engine, Options{}.complete(t)) })
		}
	}
}

// contract returns all comments of package store as one text with single spaces,
// and the names of the invariants.
func contract(t *testing.T) (text string, numbers []string) {
	t.Helper()
	files, err := filepath.Glob("../*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no sources of package store: %v", err)
	}
	var words []string
	number := regexp.MustCompile(`^(//\s+)([SE]\d+) `)
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(src)) {
			line = strings.TrimSpace(line)
			if m := number.FindStringSubmatch(line); m != nil {
				numbers = append(numbers, m[2])
				line = number.ReplaceAllString(line, "$1")
			}
			if rest, ok := strings.CutPrefix(line, "//"); ok {
				words = append(words, strings.Fields(rest)...)
			} else if i := strings.Index(line, " // "); i >= 0 {
				words = append(words, strings.Fields(line[i+4:])...)
			}
		}
	}
	return strings.Join(words, " "), numbers
}

// TestRules checks that every case cites the contract word for word, that every
// invariant has a case, and that names are unique.
func TestRules(t *testing.T) {
	text, numbers := contract(t)
	if len(numbers) < 8 {
		t.Fatalf("found invariants %v only", numbers)
	}
	names, cited := map[string]bool{}, map[string]bool{}
	for _, c := range join(allCases(), exportCases()) {
		if names[c.name] {
			t.Errorf("two cases are called %s", c.name)
		}
		names[c.name] = true
		if c.rule == "" || !strings.Contains(text, c.rule) {
			t.Errorf("%s cites %q, which is not in the contract", c.name, c.rule)
		}
		number, _, _ := strings.Cut(c.name, "/")
		cited[number] = true
	}
	for _, n := range numbers {
		if !cited[n] {
			t.Errorf("%s has no case", n)
		}
	}
	t.Logf("%d cases", len(names))
}

// recorder is the testing.TB of a case that is expected to fail.
type recorder struct {
	testing.TB
	failed bool
	log    strings.Builder
}

func (r *recorder) Helper()      {}
func (r *recorder) Failed() bool { return r.failed }
func (r *recorder) Skip(args ...any) {
	r.Logf("skipped: %s", fmt.Sprint(args...))
}

func (r *recorder) Logf(format string, args ...any) { fmt.Fprintf(&r.log, format+"\n", args...) }

func (r *recorder) Error(args ...any) {
	r.failed = true
	r.Logf("%s", fmt.Sprint(args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Error(fmt.Sprintf(format, args...))
	runtime.Goexit()
}

func (r *recorder) Errorf(format string, args ...any) { r.Error(fmt.Sprintf(format, args...)) }

// plainOptions do not depend on the environment: the flaws that cases notice were chosen
// for these.
var plainOptions = Options{Iterations: 1, Watchdog: DefaultWatchdog, exact: true}

// TestFlaws runs cases on engines that break one rule each, and expects them to
// fail. TestPlain shows that they pass on the same engine without a flaw.
func TestFlaws(t *testing.T) {
	cases := map[string]*testCase{}
	for _, c := range allCases() {
		cases[c.name] = c
	}
	for _, f := range flaws {
		t.Run(f.name, func(t *testing.T) {
			if scale.Race {
				t.Skip("cases are shorter in race builds and may miss flaws")
			}
			for _, name := range f.cases {
				c := cases[name]
				if c == nil {
					t.Fatalf("there is no case %s", name)
				}
				r := &recorder{TB: t}
				runCase(r, c, f.engine(), plainOptions)
				line, _, _ := strings.Cut(r.log.String(), "\n")
				if !r.failed {
					t.Errorf("%s did not notice: %s", name, r.log.String())
					continue
				}
				t.Logf("%s noticed: %s", name, line)
			}
		})
	}
}

// TestDisturbed disturbs an engine after the case that measures times has put two
// twelfths of its keys into its third partition: the case must not take a slow moment for
// a search of all keys.
func TestDisturbed(t *testing.T) {
	if scale.Race {
		t.Skip("times mean nothing in race builds")
	}
	for _, c := range collisionCases() {
		if c.name != "S8/bounded-work/cache" && c.name != "S8/bounded-work/store" {
			continue
		}
		opened := 0
		e := plainEngine
		e.New = func(cfg store.Config) (store.Partition, error) {
			p, err := newPlain(cfg)
			if opened++; err != nil || opened != 3 {
				return p, err
			}
			const from = workItems / 12 * 2
			return &disturbed{wrapper{p}, from, from + workCalls}, nil
		}
		r := &recorder{TB: t}
		runCase(r, c, e, plainOptions)
		if r.failed {
			t.Errorf("%s: %s", c.name, r.log.String())
		}
	}
}

// sink keeps allocations from being optimised away.
var sink []byte

// TestAllocFlaws is TestFlaws for cases that the plain engine does not pass: lru8
// passes them, but not with these flaws.
func TestAllocFlaws(t *testing.T) {
	if scale.Race {
		t.Skip("allocations are not counted in race builds")
	}
	for _, f := range []struct {
		name  string
		cases []string
		wrap  func(p store.Partition) store.Partition
	}{
		{"get-allocates", []string{"S6/allocs/cache", "S6/allocs/store", "S6/allocs-full/cache"}, func(p store.Partition) store.Partition {
			return &getter{wrapper{p}, func(p store.Partition, k store.Key, now int64) (store.Item, error) {
				sink = make([]byte, 1)
				return p.Get(k, now)
			}}
		}},
		{"refused-put-allocates", []string{"S6/allocs-full/store"}, func(p store.Partition) store.Partition {
			return &putter{wrapper{p}, func(p store.Partition, k store.Key, e store.Entry, c store.Condition, now int64) (uint64, error) {
				version, err := p.Put(k, e, c, now)
				if errors.Is(err, store.ErrFull) {
					sink = make([]byte, 1)
				}
				return version, err
			}}
		}},
		{"items-on-the-heap", []string{"S4/heap/cache", "S4/heap/store"}, func(p store.Partition) store.Partition {
			hoard := map[string][]byte{}
			return &putter{wrapper{p}, func(p store.Partition, k store.Key, e store.Entry, c store.Condition, now int64) (uint64, error) {
				hoard[string(k.Bytes)] = append([]byte{}, e.Value...)
				return p.Put(k, e, c, now)
			}}
		}},
	} {
		engine := Engine{Name: f.name, New: func(cfg store.Config) (store.Partition, error) {
			p, err := lru8.New(cfg)
			if err != nil {
				return nil, err
			}
			return f.wrap(p), nil
		}}
		for _, c := range allCases() {
			if !slices.Contains(f.cases, c.name) {
				continue
			}
			r := &recorder{TB: t}
			if runCase(r, c, engine, plainOptions); !r.failed {
				t.Errorf("%s: %s did not notice: %s", f.name, c.name, r.log.String())
			}
		}
	}
}

// TestShrink shrinks a program of many commands that fails because of two.
func TestShrink(t *testing.T) {
	program := pattern(1, headerSize+1000*commandSize)
	bad := Engine{Name: "bad", New: func(cfg store.Config) (store.Partition, error) {
		p, err := newPlain(cfg)
		return &stale{wrapper: wrapper{p}, old: map[string]store.Item{}}, err
	}}
	fails := func(p []byte) bool { return play(bad, p, store.Store) != nil }
	if !fails(program) {
		t.Fatal("the program does not fail")
	}
	small := shrink(program, fails)
	if n := len(commandsOf(small)); n > 4 {
		t.Errorf("shortened to %d commands:\n%s", n, listing(small, store.Store))
	}
	if err := play(plainEngine, program, store.Store); err != nil {
		t.Errorf("on an engine without a flaw: %v", err)
	}
}

// TestPlayPanics checks that a panic of an engine is reported as an error.
func TestPlayPanics(t *testing.T) {
	bad := Engine{Name: "bad", New: func(store.Config) (store.Partition, error) { return nil, errors.New("no") }}
	if err := play(bad, nil, store.Cache); err == nil {
		t.Error("New failed, play did not")
	}
	bad.New = func(store.Config) (store.Partition, error) { return wrapper{}, nil }
	if err := play(bad, nil, store.Cache); err == nil || !strings.Contains(err.Error(), "panic") {
		t.Errorf("a panic gave %v", err)
	}
}

func FuzzPlain(f *testing.F) { Fuzz(f, plainEngine) }

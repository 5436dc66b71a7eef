package storetest

import (
	"hash/fnv"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/test/scale"
)

// failer reports failures of a table. Fatalf does not return.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// trial is one run of one case.
type trial struct {
	testing.TB
	engine  Engine
	mode    store.Mode
	opt     Options
	seed    uint64
	skipped string
	tables  []*table
}

// runCase runs one case under a watchdog, and then closes what it opened.
func runCase(tb testing.TB, c *testCase, engine Engine, opt Options) {
	tb.Helper()
	t := &trial{TB: tb, engine: engine, mode: c.mode, opt: opt, seed: seedOf(c.name) ^ opt.Seed}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer t.rescue()
		c.run(t)
		for _, table := range t.tables {
			table.close()
		}
	}()
	dog := time.NewTimer(opt.Watchdog)
	defer dog.Stop()
	select {
	case <-done:
	case <-dog.C:
		buf := make([]byte, 1<<20)
		tb.Errorf("watchdog: the case took more than %v. All goroutines:\n%s", opt.Watchdog, buf[:runtime.Stack(buf, true)])
	}
	if tb.Failed() {
		tb.Logf("engine %s; the rule: %s\nto repeat: %s", engine.Name, c.rule, opt.repeat(tb.Name()))
	} else if t.skipped != "" {
		tb.Skip(t.skipped)
	}
}

// Fatalf reports a failure and ends the case.
func (t *trial) Fatalf(format string, args ...any) {
	t.Helper()
	t.Errorf(format, args...)
	runtime.Goexit()
}

// Fatal is Fatalf.
func (t *trial) Fatal(args ...any) {
	t.Helper()
	t.Error(args...)
	runtime.Goexit()
}

// skip ends the case because it does not apply to the engine.
func (t *trial) skip(why string) {
	t.skipped = why
	runtime.Goexit()
}

// rescue turns a panic of the engine into a failure of the case.
func (t *trial) rescue() {
	if p := recover(); p != nil {
		buf := make([]byte, 64<<10)
		t.Errorf("panic: %v\n%s", p, buf[:runtime.Stack(buf, false)])
	}
}

// times scales the repetitions of a random case.
func (t *trial) times(n int) int {
	if !t.opt.exact {
		n = scale.Times(n)
	}
	return n * t.opt.Iterations
}

// random returns generator number n of this case.
func (t *trial) random(n int) *rand.Rand { return rand.New(rand.NewPCG(t.seed, uint64(n))) }

// seedOf returns a seed that is different for each case and the same in every
// run.
func seedOf(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return h.Sum64()
}

// config returns the configuration of most cases: 1 MiB.
func (t *trial) config() store.Config {
	return store.Config{Arena: store.NewArena(nil), Memory: 1 << 20, Mode: t.mode, Seed: store.Seed(t.seed)}
}

// open makes a table with the default configuration and changes.
func (t *trial) open(changes ...func(cfg *store.Config)) *table {
	t.Helper()
	cfg := t.config()
	for _, change := range changes {
		change(&cfg)
	}
	tb, err := newTable(t, t.engine, cfg)
	if err != nil {
		t.Fatalf("New(%+v): %v", cfg, err)
	}
	t.tables = append(t.tables, tb)
	return tb
}

// memory returns a change of Config.Memory.
func memory(n int64) func(*store.Config) { return func(cfg *store.Config) { cfg.Memory = n } }

// maxValue returns a change of Config.MaxValue.
func maxValue(n int) func(*store.Config) { return func(cfg *store.Config) { cfg.MaxValue = n } }

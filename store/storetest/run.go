package storetest

import (
	"testing"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/test/scale"
)

// Engine describes an engine to the suite: how to make a partition, and its properties that
// the contract leaves open.
type Engine struct {
	// Name is the engine's name in messages.
	Name string

	// New makes an empty partition.
	New func(cfg store.Config) (store.Partition, error)

	// Modes are the modes that the engine has; none means both.
	Modes []store.Mode

	// KeepsUsed says that items that are used again and again survive a scan
	// in a cache with SecondChance.
	KeepsUsed bool

	// TakesOldest says that they do not survive it in a cache with FIFO.
	TakesOldest bool

	// Memory returns all memory that the partition keeps items and index in.
	// The suite flips bits of it. Without it, S7/flips is skipped.
	Memory func(p store.Partition) [][]byte

	// ShortViews says that the partition is a handle of a shared table: its views
	// are valid until its next call of any kind.
	ShortViews bool

	// OnePiece is how many bytes of key and value are contiguous in Memory, at
	// least, if they may be scattered. 0 means all.
	OnePiece int

	// Fill is the share of Config.Memory that keys and values of 1 KiB must
	// take in a partition of 1 MiB: in Store mode at the first refused Put,
	// in Cache mode after many times the memory was put. 0 means 0.5.
	Fill float64

	// Refill is the share of the first fill that must be reached again after many
	// rounds of filling, deleting half, and filling with other sizes. 0 means 0.5.
	Refill float64

	// MaxKey and MaxValue are limits of the engine below those of the contract; longer
	// keys and values are ErrTooLarge. 0 means the contract's.
	MaxKey, MaxValue int

	// Cell is the least memory of an item, for an engine whose items are all of one
	// size. 0 means that they are not.
	Cell int

	// NewFinder makes the client's half of an engine whose partitions are
	// store.Exporters. RunExport needs it.
	NewFinder func(layout []byte) (store.Finder, error)

	// Spans is the largest number of spans of a search. 0 means 64.
	Spans int

	// Asks is the share of searches that may end in Ask while nothing changes.
	Asks float64
}

// Run checks an engine against the contract.
func Run(t *testing.T, engine Engine) {
	t.Helper()
	RunWith(t, engine, Options{})
}

// RunWith is Run with options. The environment completes them.
//
// In race builds it runs in soak tests only: a partition is used by one goroutine, so the
// race detector has nothing to see.
func RunWith(t *testing.T, engine Engine, opt Options) {
	t.Helper()
	if scale.Race && !scale.Soak() {
		t.Skip("one goroutine has no races; the suite runs without the race detector")
	}
	opt = opt.complete(t)
	for _, c := range allCases() {
		if engine.has(c.mode) {
			t.Run(c.name, func(t *testing.T) { runCase(t, c, engine, opt) })
		}
	}
}

// has reports whether the engine has a mode.
func (e *Engine) has(mode store.Mode) bool {
	if len(e.Modes) == 0 {
		return true
	}
	for _, m := range e.Modes {
		if m == mode {
			return true
		}
	}
	return false
}

func (e *Engine) fill() float64 {
	if e.Fill == 0 {
		return 0.5
	}
	return e.Fill
}

// limited reports whether the engine's limits are below those of the contract.
func (e *Engine) limited() bool { return e.MaxKey > 0 || e.MaxValue > 0 }

// cost returns about how much memory an item takes whose key, value and metadata have
// this many bytes together.
func (e *Engine) cost(bytes int) int { return max(bytes, e.Cell) }

func (e *Engine) spans() int {
	if e.Spans == 0 {
		return 64
	}
	return e.Spans
}

func (e *Engine) refill() float64 {
	if e.Refill == 0 {
		return 0.5
	}
	return e.Refill
}

// testCase is one case of the suite.
type testCase struct {
	// name is invariant/what/mode.
	name string
	// rule is the sentence of the contract that the case checks.
	rule string
	mode store.Mode
	run  func(t *trial)
}

// allCases returns all cases in the order of the contract.
func allCases() []*testCase {
	return join(
		callCases(), limitCases(), expiryCases(), eachCases(), modelCases(), evictionCases(),
		versionCases(), fullCases(), fragmentationCases(), memoryCases(), viewCases(),
		allocCases(), clockCases(), corruptionCases(), collisionCases(), statsCases(), prefetchCases(),
	)
}

// both makes a case for each mode.
func both(name, rule string, run func(t *trial)) []*testCase {
	return join(inCache(name, rule, run), inStore(name, rule, run))
}

// inCache makes a case for Cache mode.
func inCache(name, rule string, run func(t *trial)) []*testCase {
	return []*testCase{{name: name + "/cache", rule: rule, mode: store.Cache, run: run}}
}

// inStore makes a case for Store mode.
func inStore(name, rule string, run func(t *trial)) []*testCase {
	return []*testCase{{name: name + "/store", rule: rule, mode: store.Store, run: run}}
}

// join concatenates lists of cases.
func join(groups ...[]*testCase) []*testCase {
	var all []*testCase
	for _, g := range groups {
		all = append(all, g...)
	}
	return all
}

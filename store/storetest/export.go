package storetest

import (
	"testing"

	"github.com/remora-kv/remora/internal/arena"
	"github.com/remora-kv/remora/store"
)

// RunExport checks an engine whose partitions are store.Exporters, and its Finder.
func RunExport(t *testing.T, engine Engine) {
	t.Helper()
	RunExportWith(t, engine, Options{})
}

// RunExportWith is RunExport with options. What they leave open comes from the
// environment.
func RunExportWith(t *testing.T, engine Engine, opt Options) {
	t.Helper()
	opt = opt.complete(t)
	for _, c := range exportCases() {
		if engine.has(c.mode) {
			t.Run(c.name, func(t *testing.T) { runCase(t, c, engine, opt) })
		}
	}
}

// exportCases are the cases of RunExport.
func exportCases() []*testCase {
	return join(quietCases(), changeCases(), tornCases(), garbageCases(), hammerCases(), wordCases())
}

const (
	ruleProves = "it carries a checksum over key, value, version and the rest, and a Finder accepts nothing else;"
	ruleLater  = "who begins to read later finds it, or nothing, or something that does not prove itself, but never what was there before."
	ruleForged = "Bytes of another key, of another version than the proof says, or half of a change are never Found."
	ruleMiss   = "Missing: there was certainly no such item at some time since Start."
	ruleBytes  = "it never reads outside of them, asks for a bounded number of spans (then it says Ask), and allocates nothing."
	ruleLayout = "A Finder does not trust it."
	ruleAreas  = "Areas are the blocks, which a Finder names by their place in this list; at most MaxAreas."
	ruleWord   = "Touch returns the word that counts uses of what was Found, to be added to by a FETCH_ADD; false if the engine has none."
)

// exported is a table whose memory is read as a client reads it.
type exported struct {
	*table
	t      *trial
	ex     store.Export
	finder store.Finder

	searches, spans, asks int
}

// openExport makes a partition of 64 KiB, or with changes, in which any Put may be
// refused.
func (t *trial) openExport(changes ...func(cfg *store.Config)) *exported {
	t.Helper()
	if t.engine.NewFinder == nil {
		t.Fatalf("Engine.NewFinder is missing")
	}
	all := append([]func(*store.Config){memory(store.MinMemory), exportingArena}, changes...)
	x := &exported{table: t.open(all...), t: t}
	x.refusable = true
	p, ok := x.p.(store.Exporter)
	if !ok {
		t.Fatalf("%T is not a store.Exporter", x.p)
	}
	x.ex = p.Export()
	x.finder = x.newFinder()
	return x
}

func (x *exported) newFinder() store.Finder {
	x.Helper()
	f, err := x.engine.NewFinder(x.ex.Layout)
	if err != nil {
		x.Fatalf("NewFinder of the engine's own layout: %v", err)
	}
	return f
}

// right is the owner of an exported block: what others may do with it.
type right struct{ seal arena.Seal }

// exportingArena has an arena with a source that remembers the seals.
func exportingArena(cfg *store.Config) {
	under := arena.New()
	cfg.Arena = arena.NewFrom(func(purpose string, size int, seal arena.Seal) ([]byte, any, func() error, error) {
		b, err := under.Alloc(purpose, size)
		if err != nil {
			return nil, nil, nil, err
		}
		return b.Bytes(), right{seal}, b.Free, nil
	})
}

// writable says whether clients may write an area.
func writable(b *arena.Block) bool {
	r, ok := b.Owner().(right)
	return ok && r.seal == arena.ReadWriteForOthers
}

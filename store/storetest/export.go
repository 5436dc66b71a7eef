package storetest

import (
	"fmt"
	"testing"

	"github.com/remora-kv/remora/store"
)

// RunExport checks an engine whose partitions are store.Exporters, and its Finder.
func RunExport(t *testing.T, engine Engine) {
	t.Helper()
	RunExportWith(t, engine, Options{})
}

// RunExportWith is RunExport with options. The environment completes them.
func RunExportWith(t *testing.T, engine Engine, opt Options) {
	t.Helper()
	opt = opt.complete(t)
	for _, c := range exportCases() {
		if engine.has(c.mode) {
			t.Run(c.name, func(t *testing.T) { runCase(t, c, engine, opt) })
		}
	}
}

// FuzzFinder gives Finders any layout, any key and any bytes.
//
//	func FuzzFinder(f *testing.F) { storetest.FuzzFinder(f, engine) }
func FuzzFinder(f *testing.F, engine Engine) {
	p, err := engine.New(store.Config{Memory: store.MinMemory, Mode: store.Store})
	if err != nil {
		f.Fatal(err)
	}
	key := []byte("the key")
	if _, err := p.Put(store.Seed(0).Key(key), store.Entry{Value: []byte("the value")}, store.Always(), 0); err != nil {
		f.Fatal(err)
	}
	exporter, ok := p.(store.Exporter)
	if !ok {
		f.Fatalf("%T is not a store.Exporter", p)
	}
	ex := exporter.Export()
	for _, a := range ex.Areas {
		f.Add(ex.Layout, key, a.Bytes()[:min(4096, a.Size())])
	}
	f.Add([]byte{}, []byte{}, []byte{})
	f.Fuzz(func(t *testing.T, layout, key, data []byte) {
		if fault := faultOfFinder(engine, layout, key, data); fault != "" {
			t.Fatal(fault)
		}
	})
}

// faultOfFinder searches with a Finder of a layout, which gets data again and
// again, and returns what it does wrong, or "".
func faultOfFinder(engine Engine, layout, key, data []byte) string {
	finder, err := engine.NewFinder(layout)
	if err != nil {
		return ""
	}
	span := finder.Start(store.Seed(0).Key(key))
	for range engine.spans() {
		if fault := faultOfSpan(span); fault != "" {
			return fmt.Sprintf("a Finder asks for %+v: %s", span, fault)
		}
		if span.Len > longestSpan {
			return ""
		}
		b := make([]byte, span.Len)
		for n := 0; n < len(b) && len(data) > 0; {
			n += copy(b[n:], data)
		}
		next, outcome := finder.Look(b)
		switch outcome {
		case store.More:
			span = next
		case store.Found:
			_ = finder.Item()
			_, _ = finder.Touch()
			return ""
		default:
			return ""
		}
	}
	return fmt.Sprintf("a Finder asks for more than %d spans", engine.spans())
}

// exportCases are the cases of RunExport.
func exportCases() []*testCase {
	return join(quietCases(), changeCases(), tornCases(), garbageCases(), hammerCases(), wordCases())
}

const (
	ruleProves = "exported items carry a checksum over key, value, version and the rest, and a Finder accepts nothing that does not match it;"
	ruleLater  = "A client that begins to read later finds the new state, or nothing, or bytes that do not match their checksum, but never the old state."
	ruleForged = "It never returns Found for bytes of another key, bytes that do not match their checksum, or half of a change."
	ruleMiss   = "Missing means that the item did not exist at some time since Start."
	ruleBytes  = "it never reads outside of them, asks for a bounded number of spans before it returns Ask, and allocates nothing."
	ruleLayout = "A Finder does not trust it."
	ruleAreas  = "A Finder names them by index."
	ruleWord   = "Touch returns the span that counts the uses of the item that was Found: a word, or one byte of a word (length 1), to which the client adds by FETCH_ADD."
)

// exported is a table whose memory is read as a client reads it.
type exported struct {
	*table
	t      *trial
	ex     store.Export
	finder store.Finder

	searches, spans, asks int
}

// openExport makes a partition of 64 KiB, or as changed, in which any Put may be
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

// right is the owner of an exported block. It says what clients may do with it.
type right struct{ writable bool }

// exportingArena sets an arena whose blocks clients can read, and remembers which they may
// write.
func exportingArena(cfg *store.Config) {
	under := store.NewArena(nil)
	cfg.Arena = store.NewArena(func(purpose string, size int, writable bool) ([]byte, any, func() error, error) {
		b, err := under.Alloc(purpose, size)
		if err != nil {
			return nil, nil, nil, err
		}
		return b.Bytes(), right{writable}, b.Free, nil
	})
}

// writable reports whether clients may write an area.
func writable(b store.Block) bool {
	r, ok := b.Owner().(right)
	return ok && r.writable
}

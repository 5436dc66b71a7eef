package storetest

import (
	"errors"

	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/store"
)

func wordCases() []*testCase {
	return join(
		both("E1/touch", ruleWord, touchWord),
		both("E1/writable", "Clients can add to those that are writable (Arena.Export).", scribbledAreas),
	)
}

// touchWord adds any numbers to the use counters of items, until they wrap around. The items
// must not change, for Finders, for the engine and for Check.
func touchWord(t *trial) {
	x := t.openExport()
	random := t.random(0)
	for range t.times(750) {
		key := exportKey(random.IntN(crowd))
		x.change(random, key)
		s := x.start(key)
		if s.finish() != store.Found {
			continue
		}
		span, ok := s.f.Touch()
		if !ok {
			t.skip("the engine has no use counters")
		}
		if s.span = span; span.Len != 8 {
			t.Fatalf("Touch returns a span of %d bytes, want 1 or 8", span.Len)
		}
		mem := s.memory()
		if !writable(x.ex.Areas[span.Area]) {
			t.Fatalf("Touch returns a span in a read-only area")
		}
		fence.Word(mem, 0).Add(random.Uint64() >> random.IntN(64))
		x.find(key)
	}
	x.sync()
}

// scribbledAreas lets clients write anything into the areas that they may write. What the
// engine returns afterwards must be right, or the item is lost.
func scribbledAreas(t *trial) {
	x := t.openExport()
	random := t.random(0)
	put := map[string][]byte{}
	for _, a := range x.ex.Areas {
		if !writable(a) {
			continue
		}
		for range t.times(750) {
			for range random.IntN(20) {
				fillers[random.IntN(len(fillers))](x, a.Bytes()[random.IntN(a.Size()/8)*8:][:8], random)
			}
			key := exportKey(random.IntN(crowd))
			k := store.Key{Hash: x.hash(key), Bytes: key}
			switch e := x.entry(random); random.IntN(8) {
			case 0:
				_ = x.p.Delete(k, store.Always(), 0)
				delete(put, string(key))
			case 1:
				_ = x.p.Touch(k, 0, 0)
			case 2, 3, 4:
				if _, err := x.p.Put(k, e, store.Always(), 0); err == nil {
					put[string(key)] = e.Value
				}
			default:
				item, err := x.p.Get(k, 0)
				want, ok := put[string(key)]
				if err == nil && (!ok || string(item.Value) != string(want)) {
					t.Fatalf("after a client wrote into an area, Get of key %s returns %s, want %s", short(key), short(item.Value), short(want))
				}
			}
			if err := x.p.Check(); err != nil && !errors.Is(err, store.ErrCorrupt) {
				t.Fatalf("Check: %v", err)
			}
		}
		x.p.Each(0, func(store.Key, store.Item) bool { return true })
	}
	x.drop()
}

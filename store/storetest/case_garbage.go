package storetest

import (
	"math/rand/v2"
	"slices"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/test/scale"
)

func garbageCases() []*testCase {
	return join(
		both("E1/garbage", ruleBytes, garbage),
		both("E1/never-proves", ruleBytes, neverProves),
		inStore("E1/layout", ruleLayout, anyLayout),
		both("E1/areas", ruleAreas, areas),
		both("E1/finder-allocs", ruleBytes, finderAllocs),
	)
}

// fillers are the kinds of bytes that a Finder is given.
var fillers = []func(x *exported, b []byte, random *rand.Rand){
	func(_ *exported, b []byte, _ *rand.Rand) { clear(b) },
	func(_ *exported, b []byte, _ *rand.Rand) { fillBytes(b, 0xff) },
	func(_ *exported, b []byte, random *rand.Rand) { fillPattern(b, random.Uint64()) },
	func(_ *exported, b []byte, random *rand.Rand) { fillBytes(b, byte(random.IntN(256))) },
	func(_ *exported, b []byte, random *rand.Rand) { smallNumbers(b, random) },
	func(x *exported, b []byte, random *rand.Rand) { elsewhere(x, b, random) },
	func(_ *exported, b []byte, random *rand.Rand) { someBytes(b, random) },
}

func fillBytes(b []byte, v byte) {
	for i := range b {
		b[i] = v
	}
}

// smallNumbers fills b with words that may pass for lengths and offsets.
func smallNumbers(b []byte, random *rand.Rand) {
	for i := range b {
		if b[i] = 0; random.IntN(4) == 0 {
			b[i] = byte(random.IntN(256)) >> random.IntN(8)
		}
	}
}

// elsewhere fills b with bytes from another place of the memory.
func elsewhere(x *exported, b []byte, random *rand.Rand) {
	from := x.ex.Areas[random.IntN(len(x.ex.Areas))].Bytes()
	copy(b, from[random.IntN(len(from))&^7:])
}

// someBytes changes a few bytes of b.
func someBytes(b []byte, random *rand.Rand) {
	for range 1 + random.IntN(8) {
		b[random.IntN(len(b))] = byte(random.IntN(256))
	}
}

// garbage gives a Finder any bytes: a search ends, asks for no span outside of the areas, and
// an item that is Found exists.
func garbage(t *trial) {
	x := t.openExport()
	random := t.random(0)
	keys := [][]byte{{}, {0}, {0, 0, 0, 0, 0, 0, 0, 0}, []byte("not there")}
	for i := range crowd {
		keys = append(keys, exportKey(i))
		putOf(x, exportKey(i), random)
	}
	for range t.times(2500) {
		s := x.start(keys[random.IntN(len(keys))])
		s.loose = true
		kind, always := random.IntN(len(fillers)), random.IntN(2) == 0
		for {
			b := s.read()
			if always || random.IntN(2) == 0 {
				fillers[kind](x, b, random)
			} else {
				fillers[random.IntN(len(fillers))](x, b, random)
			}
			if s.look(b) != store.More {
				break
			}
		}
	}
}

// neverProves corrupts one span of a search each time that it is read: the search
// must end.
func neverProves(t *trial) {
	x := t.openExport()
	random := t.random(0)
	for i := range crowd {
		putOf(x, exportKey(i), random)
	}
	for range t.times(250) {
		s := x.start(exportKey(random.IntN(crowd)))
		s.loose = true
		var seen []store.Span
		for broken := random.IntN(3); ; {
			at := slices.Index(seen, s.span)
			if at < 0 {
				at, seen = len(seen), append(seen, s.span)
			}
			b := s.read()
			for i := 0; at == broken && i < len(b); i++ {
				if random.IntN(8) == 0 {
					b[i] ^= 1 << random.IntN(8)
				}
			}
			if s.look(b) != store.More {
				break
			}
		}
	}
}

// longestSpan is the longest span that the suite gives a Finder with a wrong layout.
const longestSpan = 1 << 20

// anyLayout makes Finders from layouts with flipped bits, shortened, lengthened, and of random
// bytes. NewFinder returns an error, or a Finder that handles any bytes.
func anyLayout(t *trial) {
	x := t.openExport()
	random := t.random(0)
	putOf(x, exportKey(1), random)
	made := 0
	for range t.times(5000) {
		f, err := t.engine.NewFinder(lie(x.ex.Layout, random))
		if err != nil {
			continue
		}
		made++
		x.misled(f, random)
	}
	t.Logf("%d Finders were made", made)
	for _, layout := range [][]byte{nil, {}, make([]byte, store.MaxLayout)} {
		if f, err := t.engine.NewFinder(layout); err == nil {
			x.misled(f, random)
		}
	}
}

// lie returns a layout that is not the engine's.
func lie(layout []byte, random *rand.Rand) []byte {
	l := append([]byte(nil), layout...)
	switch random.IntN(5) {
	case 0:
		return l[:random.IntN(len(l)+1)]
	case 1:
		return append(l, pattern(random.Uint64(), 1+random.IntN(20))...)
	case 2:
		fillPattern(l, random.Uint64())
	case 3:
		smallNumbers(l, random)
	default:
		for range 1 + random.IntN(3) {
			if len(l) > 0 {
				l[random.IntN(len(l))] ^= 1 << random.IntN(8)
			}
		}
	}
	return l
}

// misled searches with a Finder whose layout may be wrong.
func (x *exported) misled(f store.Finder, random *rand.Rand) {
	x.Helper()
	key := exportKey(random.IntN(crowd))
	span := f.Start(store.Key{Hash: x.hash(key), Bytes: key})
	for range x.engine.spans() {
		if fault := faultOfSpan(span); fault != "" {
			x.Fatalf("a Finder asks for %+v: %s", span, fault)
		}
		if span.Len > longestSpan {
			return // no fabric has such an area
		}
		b := make([]byte, span.Len)
		if span.Area < len(x.ex.Areas) && span.Off < int64(x.ex.Areas[span.Area].Size()) {
			copy(b, x.ex.Areas[span.Area].Bytes()[span.Off:])
		}
		fillers[random.IntN(len(fillers))](x, b, random)
		next, outcome := f.Look(b)
		if outcome != store.More {
			return
		}
		span = next
	}
	x.Fatalf("a Finder with a wrong layout asked for more than %d spans", x.engine.spans())
}

// areas checks the exported areas, and that they do not change.
func areas(t *trial) {
	for _, size := range []int64{store.MinMemory, 99_999, 1 << 20} {
		x := t.openExport(memory(size))
		random := t.random(int(size))
		for range t.times(300) {
			x.change(random, exportKey(random.IntN(40)))
		}
		p, _ := x.p.(store.Exporter)
		again := p.Export()
		if string(again.Layout) != string(x.ex.Layout) || len(again.Areas) != len(x.ex.Areas) {
			t.Fatalf("Export returned %+v, then %+v", x.ex, again)
		}
		if len(again.Layout) > store.MaxLayout || len(again.Areas) == 0 || len(again.Areas) > store.MaxAreas {
			t.Fatalf("a layout of %d bytes and %d areas exceed the limits", len(again.Layout), len(again.Areas))
		}
		for i, a := range again.Areas {
			if a != x.ex.Areas[i] {
				t.Fatalf("area %d was replaced by another block", i)
			}
			if _, ok := a.Owner().(right); !ok {
				t.Fatalf("area %d, %s, does not come from Arena.Export", i, a.Purpose())
			}
		}
		if held(x.cfg.Arena) > size {
			t.Fatalf("a partition of %d bytes allocated %d", size, held(x.cfg.Arena))
		}
		x.close()
	}
}

// finderAllocs checks that a search does not allocate.
func finderAllocs(t *trial) {
	if scale.Race {
		t.skip("allocations are not counted in race builds")
	}
	x := t.openExport()
	x.tryPut(exportKey(1), store.Entry{Value: pattern(1, min(100, x.maxValue()))}, store.Always())
	buf := make([]byte, longestSpan)
	for _, key := range [][]byte{exportKey(1), exportKey(2)} {
		k := store.Key{Hash: x.hash(key), Bytes: key}
		t.noAllocs("a search", func() {
			span, outcome := x.finder.Start(k), store.More
			for outcome == store.More {
				b := buf[:copy(buf[:span.Len], x.ex.Areas[span.Area].Bytes()[span.Off:])]
				span, outcome = x.finder.Look(b)
			}
			if outcome == store.Found {
				_ = x.finder.Item()
				_, _ = x.finder.Touch()
			}
		})
	}
}

package storetest

import "github.com/remora-kv/remora/store"

const (
	ruleGrow  = "Every successful Put gives the item a version larger than all versions that this partition assigned before, and never 0."
	ruleKept  = "Touch and Get keep the version."
	ruleFits  = "Versions fit into 48 bits."
	ruleFirst = "FirstVersion is smaller than every version that the partition assigns."
)

func versionCases() []*testCase {
	return join(
		both("S2/grow", ruleGrow, versionsGrow),
		both("S2/kept", ruleKept, versionsKept),
		both("S2/first", ruleFirst, versionsFirst),
		both("S2/48-bits", ruleFits, versionsFit),
	)
}

// versionsGrow puts, deletes and puts again, with failing Puts between; the
// table compares each version with the largest before.
func versionsGrow(t *trial) {
	tb := t.open()
	random := t.random(0)
	for i := range t.times(1250) {
		key := numbered(random.IntN(100), 16)
		switch random.IntN(6) {
		case 0:
			tb.tryDel(key, store.Always())
		case 1:
			tb.tryPut(key, store.Entry{}, store.IfVersion(tb.model.last))
		case 2:
			tb.tryPut(key, store.Entry{}, store.IfAbsent())
		default:
			tb.mustPut(key, pattern(uint64(i), random.IntN(200)))
			tb.mustGet(key)
		}
	}
}

func versionsKept(t *trial) {
	tb := t.open()
	version := tb.mustPut([]byte("a"), []byte("b"))
	for i := range 100 {
		tb.tryTouch([]byte("a"), int64(1+i))
		tb.get([]byte("a"))
		tb.get([]byte("x"))
		tb.tryTouch([]byte("x"), 5)
		tb.tryPut([]byte("a"), store.Entry{}, store.IfAbsent())
		if r := tb.mustGet([]byte("a")); r.version != version {
			t.Fatalf("version %d became %d", version, r.version)
		}
	}
	if next := tb.mustPut([]byte("a"), []byte("b")); next == version {
		t.Fatalf("a Put of the same bytes kept version %d", version)
	}
}

func versionsFirst(t *trial) {
	for _, first := range []uint64{0, 1, 41, 1 << 20, 1<<32 - 2, 1 << 32, store.MaxVersion/2 - 1, store.MaxVersion / 2} {
		tb := t.open(func(cfg *store.Config) { cfg.FirstVersion = first })
		for i := range 20 {
			if v := tb.mustPut(numbered(i, 8), nil); v <= first {
				t.Fatalf("version %d is not above FirstVersion, %d", v, first)
			}
			tb.mustGet(numbered(i, 8))
		}
	}
}

// versionsFit starts with versions that do not fit into 32 bits.
func versionsFit(t *trial) {
	tb := t.open(func(cfg *store.Config) { cfg.FirstVersion = store.MaxVersion/2 - 100 })
	for i := range 1000 {
		tb.mustPut(numbered(i%50, 8), pattern(uint64(i), i%100))
		tb.mustGet(numbered(i%50, 8))
	}
}

package hopscotch

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/remora-kv/remora/store"
)

// fillTo puts items until their number is a share of the slots.
func (r *rig) fillTo(from, percent, size int) (items int) {
	r.Helper()
	items = int(r.homes) * percent / 100
	for i := from; i < items; i++ {
		r.MustPut(key(i), size)
	}
	return items
}

// TestSpans counts the spans of searches for existing keys. They are the READs of a GET: 1.0 for
// FaRM with inlined values and 2.0 without, as in paper 002, and a little
// more when the table is fuller than intended.
func TestSpans(t *testing.T) {
	for _, c := range []struct {
		name    string
		shape   shape
		size    int
		percent int
		most    float64
	}{
		{"inline", New, 32, 50, 1.002},
		{"inline", New, 32, 75, 1.03},
		{"var", NewVar, 0, 50, 2.002},
		{"var", NewVar, 0, 75, 2.03},
	} {
		t.Run(fmt.Sprintf("%s/%d%%", c.name, c.percent), func(t *testing.T) {
			r := openRig(t, c.shape, store.Store, 8<<20)
			n, spans := r.fillTo(0, c.percent, c.size), 0
			for i := range n {
				outcome, taken := r.search(key(i))
				if outcome != store.Found {
					t.Fatalf("item %d: outcome %d", i, outcome)
				}
				spans += taken
			}
			mean := float64(spans) / float64(n)
			t.Logf("%d items: %.4f spans for a search", n, mean)
			if mean > c.most {
				t.Errorf("a search reads %.4f spans, want at most %.3f", mean, c.most)
			}
		})
	}
}

// TestFill measures how many items are in chains at several loads.
func TestFill(t *testing.T) {
	r := openRig(t, NewVar, store.Store, 8<<20)
	from := 0
	for _, c := range []struct {
		percent int
		most    float64
	}{{25, 0}, {50, 0.002}, {75, 0.02}, {90, 0.06}} {
		from = r.fillTo(from, c.percent, 0)
		chained := 0
		for i := range from {
			if k := key(i); r.find(k.Hash, k.Bytes).inChain() {
				chained++
			}
		}
		share := float64(chained) / float64(from)
		t.Logf("%d %% of the slots: %.3f %% of the items are in chains", c.percent, 100*share)
		if share > c.most {
			t.Errorf("%d %% of the slots: %d of %d items are in chains", c.percent, chained, from)
		}
	}
}

// TestMixedMoments reads each word of a neighbourhood at another moment, while items come, go
// and hop. An item that exists all the time is never Missing, and an item that is Found
// exists.
func TestMixedMoments(t *testing.T) {
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			r := openRig(t, shape, store.Store, store.MinMemory)
			random := rand.New(rand.NewPCG(5, 6))
			const crowd, first = 16, 40
			keys := make([]store.Key, crowd)
			for i := range keys {
				keys[i] = r.homed(i, first-4+uint64(i)%9)
			}
			stays := r.homed(crowd, first)
			version := r.MustPut(stays, 20)
			founds, hops := 0, 0
			for range 20_000 {
				span, slot := r.finder.Start(stays), r.find(stays.Hash, stays.Bytes).slot
				moments := r.moments(random, keys, span)
				if r.find(stays.Hash, stays.Bytes).slot != slot {
					hops++
				}
				b := make([]byte, span.Len)
				for at := 0; at < span.Len; at += 8 {
					copy(b[at:at+8], moments[random.IntN(len(moments))][at:])
				}
				span, outcome := r.finder.Look(b)
				for outcome == store.More {
					span, outcome = r.finder.Look(r.ReadSpan(span))
				}
				if outcome == store.Missing || outcome == store.Found && r.finder.Item().Version != version {
					t.Fatalf("outcome %d, item %+v, but the item of version %d existed all the time", outcome, r.finder.Item(), version)
				}
				if outcome == store.Found {
					founds++
				}
			}
			if founds == 0 || hops == 0 {
				t.Errorf("%d times found, hopped %d times", founds, hops)
			}
		})
	}
}

// moments returns a span after each of a few changes to other keys.
func (r *rig) moments(random *rand.Rand, keys []store.Key, span store.Span) (all [][]byte) {
	r.Helper()
	for range 1 + random.IntN(6) {
		k := keys[random.IntN(len(keys))]
		if random.IntN(2) == 0 {
			_ = r.Delete(k, store.Always(), 0)
		} else {
			r.MustPut(k, 20)
		}
		all = append(all, append([]byte(nil), r.ReadSpan(span)...))
	}
	return all
}

// TestLines reads a slot with lines of two items of the same key: the versions tell them
// apart without the checksum.
func TestLines(t *testing.T) {
	r := openRig(t, New, store.Store, store.MinMemory)
	k := r.homed(1, 40)
	r.MustPut(k, 20)
	before := append([]byte(nil), r.ReadSpan(r.finder.Start(k))...)
	r.MustPut(k, 20)
	after := append([]byte(nil), r.ReadSpan(r.finder.Start(k))...)
	copy(after[64:128], before[64:128])
	slot := after[:inlineSlot]
	if r.finder.proveInline(slot, label(binary.LittleEndian.Uint64(slot[atLabel:])).version()) {
		t.Error("a slot with the second line of another version is valid")
	}
	if r.finder.found.Version() != 1 {
		t.Errorf("the second line has version %d", r.finder.found.Version())
	}
	if _, o := r.finder.Look(after); o != store.More {
		t.Errorf("outcome %d", o)
	}
}

// TestBounds gives a Finder words that point out of the memory: it reads the neighbourhood
// again, and finally returns Ask.
func TestBounds(t *testing.T) {
	r := openRig(t, NewVar, store.Store, store.MinMemory)
	k := key(1)
	w := home(0).enter(0)
	for _, l := range []lead{
		newLead(maxMemory-unit, 4, k.Hash, w.mark(0)), newLead(r.heap.End()+unit, 255, k.Hash, w.mark(0)),
		newLead(unit, 0, k.Hash, w.mark(0)), newLead(0, 9, k.Hash, w.mark(0)),
	} {
		span := r.finder.Start(k)
		for n := 1; ; n++ {
			b := make([]byte, span.Len)
			binary.LittleEndian.PutUint64(b[atHome:], uint64(w))
			binary.LittleEndian.PutUint64(b[atLead:], uint64(l))
			binary.LittleEndian.PutUint64(b[atLabel:], uint64(newLabel(1, w.mark(0))))
			next, outcome := r.finder.Look(b)
			if outcome == store.Ask && n == maxSpans {
				break
			}
			if outcome != store.More || next != span || n == maxSpans {
				t.Fatalf("lead %#x: %+v, outcome %d after %d spans", uint64(l), next, outcome, n)
			}
		}
	}
}

// TestIdle calls Look without a search, and with too few bytes.
func TestIdle(t *testing.T) {
	r := openRig(t, New, store.Store, store.MinMemory)
	if _, o := r.finder.Look(make([]byte, 100)); o != store.Ask {
		t.Errorf("outcome %d", o)
	}
	if item := r.finder.Item(); item.Value != nil || item.Version != 0 {
		t.Errorf("item %+v", item)
	}
	r.finder.Start(key(1))
	if _, o := r.finder.Look(make([]byte, 7)); o != store.Ask {
		t.Errorf("outcome %d", o)
	}
	if _, ok := r.finder.Touch(); ok {
		t.Error("Touch returns a span, but uses are not counted")
	}
}

// FuzzFinder gives a Finder any layout and any bytes.
func FuzzFinder(f *testing.F) {
	table, err := New(store.Config{Memory: store.MinMemory, Seed: seed})
	if err != nil {
		f.Fatal(err)
	}
	own := table.Export().Layout
	if err := table.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(own, []byte("any bytes"))
	f.Add([]byte{}, []byte{})
	f.Fuzz(func(t *testing.T, layout, given []byte) {
		finder, err := NewFinder(layout)
		if err != nil {
			return
		}
		span := finder.Start(seed.Key(given))
		for n := 1; ; n++ {
			if span.Area > itemArea || span.Off < 0 || span.Off%8 != 0 || span.Len <= 0 || span.Len > maxSpan {
				t.Fatalf("span %+v", span)
			}
			b := make([]byte, span.Len)
			for i := range b {
				if len(given) > 0 {
					b[i] = given[(i+n)%len(given)]
				}
			}
			next, outcome := finder.Look(b)
			if outcome != store.More {
				return
			}
			if n > maxSpans {
				t.Fatalf("more than %d spans", maxSpans)
			}
			span = next
		}
	})
}

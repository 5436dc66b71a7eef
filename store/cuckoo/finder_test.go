package cuckoo

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/internal/extent"
)

// TestSpans measures how many READs a search takes at Pilaf's load of 75 %: 1.6 buckets and
// the item for existing keys.
func TestSpans(t *testing.T) {
	r := open(t, store.Store, 8<<20)
	n := int(r.buckets) * itemsPer / bucketsPer
	for i := range n {
		r.MustPut(key(i), 32)
	}
	rd := r.reader()
	count := func(first int, want store.Outcome) float64 {
		sum := 0
		for i := first; i < first+n; i++ {
			if got := rd.Search(key(i), nil); got != want {
				t.Fatalf("key %d: %d", i, got)
			}
			sum += rd.Spans
		}
		return float64(sum) / float64(n)
	}
	found, missing := count(0, store.Found), count(n, store.Missing)
	t.Logf("%d keys in %d buckets: %.3f READs find a key, %.3f prove that one is missing", n, r.buckets, found, missing)
	if found < 2.4 || found > 2.8 {
		t.Errorf("%.3f READs find a key, want 2.4 to 2.8", found)
	}
	if missing > 2.6 {
		t.Errorf("%.3f READs prove that a key is missing, want at most 2.6", missing)
	}
}

// TestFill puts items shorter than expected until the index refuses one.
func TestFill(t *testing.T) {
	for _, memory := range []int64{store.MinMemory, 1 << 20, 16 << 20} {
		r := open(t, store.Store, memory)
		n := r.FillUp(0, 0)
		fill := float64(n) / float64(r.buckets)
		t.Logf("%d buckets: the first refusal at a fill of %.3f", r.buckets, fill)
		if fill < 0.8 {
			t.Errorf("%d buckets: refused at a fill of %.3f", r.buckets, fill)
		}
		for i := range n {
			if !r.Has(key(i)) {
				t.Fatalf("key %d was lost", i)
			}
		}
	}
}

// TestFinderSeesChanges compares a Finder with Get after every call (E2): without
// concurrent changes it never returns Ask.
func TestFinderSeesChanges(t *testing.T) {
	for _, mode := range []store.Mode{store.Store, store.Cache} {
		r := open(t, mode, store.MinMemory)
		rd := r.reader()
		random := rand.New(rand.NewPCG(5, uint64(mode)))
		for i := range 30_000 {
			k := key(random.IntN(500))
			switch random.IntN(5) {
			case 0:
				_ = r.Delete(k, store.Always(), 0)
			case 1:
				_ = r.Touch(k, int64(i)+100, 0)
			default:
				_, _ = r.Put(k, store.Entry{Value: value(k, random.IntN(200)), Flags: uint32(i)}, store.Always(), 0)
			}
			if i%3 == 0 {
				k = key(random.IntN(500))
			}
			want, err := r.Get(k, 0)
			got := rd.Search(k, nil)
			if (got == store.Found) != (err == nil) || got == store.Ask {
				t.Fatalf("step %d: the Finder says %d, Get %v", i, got, err)
			}
			if item := rd.Item(); got == store.Found &&
				(!bytes.Equal(item.Value, want.Value) || item.Version != want.Version || item.Flags != want.Flags || item.Expires != want.Expires) {
				t.Fatalf("step %d: the Finder found %+v, Get %+v", i, item, want)
			}
		}
	}
}

// TestMovesHideNothing moves a key between its choices in all ways, between
// the READs of a search: the key always exists, so it is never Missing (C9).
func TestMovesHideNothing(t *testing.T) {
	r := open(t, store.Store, store.MinMemory)
	rd := r.reader()
	k := key(1)
	r.MustPut(k, 20)
	c := r.choicesOf(r.tagOf(k.Hash))
	at := func() uint64 { return r.find(k.Hash, k.Bytes).bucket }
	asked, ways := 0, 1
	for range 6 {
		ways *= choices
	}
	for way := range ways {
		for first := range c {
			move := func(to uint64) {
				if from := at(); from != to {
					r.moveEntry(from, to)
				}
			}
			move(c[first])
			rest := way
			got := rd.Search(k, func(int) {
				move(c[rest%choices])
				rest /= choices
			})
			switch got {
			case store.Found:
				if string(rd.Item().Value) != string(value(k, 20)) {
					t.Fatalf("way %d: wrong value", way)
				}
			case store.Ask:
				asked++
			case store.Missing, store.More:
				t.Fatalf("way %d from choice %d: %d after %d READs", way, first, got, rd.Spans)
			}
		}
	}
	t.Logf("%d searches, %d of them have to ask", ways*choices, asked)
	r.MustCheck()
}

// TestThereAndBack moves an entry away and back between two READs of its bucket: the
// stamp reveals it.
func TestThereAndBack(t *testing.T) {
	r := open(t, store.Store, store.MinMemory)
	rd := r.reader()
	k := key(1)
	r.MustPut(k, 20)
	c := r.choicesOf(r.tagOf(k.Hash))
	r.moveEntry(c[0], c[2])
	got := rd.Search(k, func(n int) {
		switch n {
		case 2: // home and second were seen without the key
			r.moveEntry(c[2], c[0])
		case 3: // and now the third
			r.moveEntry(c[0], c[2])
		}
	})
	if got != store.Found || rd.Spans < 5 {
		t.Errorf("outcome %d after %d READs", got, rd.Spans)
	}
}

// TestTornBucket mixes words of a bucket from before and after a change: only the images of
// whole states are valid (C4).
func TestTornBucket(t *testing.T) {
	r := open(t, store.Store, store.MinMemory)
	k := key(1)
	r.MustPut(k, 20)
	bucket := r.find(k.Hash, k.Bytes).bucket
	image := func() []byte { return bytes.Clone(r.index[bucket*bucketSize:][:bucketSize]) }
	for name, change := range map[string]func(){
		"replace":       func() { r.MustPut(k, 21) },
		"count":         func() { r.countSpill(bucket, 1) },
		"count back":    func() { r.countSpill(bucket, -1) },
		"replace again": func() { r.MustPut(k, 100) },
	} {
		before := image()
		change()
		after := image()
		for mask := range 1 << 4 {
			mixed := bytes.Clone(before)
			for w := range 4 {
				if mask>>w&1 != 0 {
					copy(mixed[8*w:8*w+8], after[8*w:])
				}
			}
			_, ok := parseBucket(mixed)
			if whole := bytes.Equal(mixed, before) || bytes.Equal(mixed, after); ok != whole {
				t.Errorf("%s: an image with the new words %04b is valid: %v", name, mask, ok)
			}
		}
	}
}

// TestReusedMemory reads an entry, reuses its block in all ways, and then reads the
// item: the old item is not found there (C12).
func TestReusedMemory(t *testing.T) {
	r := open(t, store.Store, store.MinMemory)
	rd := r.reader()
	k, other := key(1), key(2)
	for name, reuse := range map[string]func(){
		"replaced in place": func() {
			p := r.find(k.Hash, k.Bytes)
			e := store.Entry{Value: value(k, 32)}
			_, _ = r.overwrite(p, k, &e, blockSize(16, 32))
		},
		"another key": func() {
			_ = r.Delete(k, store.Always(), 0)
			r.MustPut(other, 32)
		},
		"deleted and put again": func() {
			_ = r.Delete(k, store.Always(), 0)
			r.MustPut(k, 32)
		},
		"many others": func() {
			_ = r.Delete(k, store.Always(), 0)
			for i := range 300 {
				r.MustPut(key(1000+i), 30+i%40)
			}
		},
	} {
		_ = r.Delete(other, store.Always(), 0)
		_ = r.Delete(k, store.Always(), 0)
		r.MustPut(k, 32)
		off := r.find(k.Hash, k.Bytes).off
		was := bytes.Clone(r.heap.Mem()[off+extent.Head:][:blockSize(16, 32)-extent.Head])
		old := r.record(off).Version()
		got := rd.Search(k, func(n int) {
			if n == 1 {
				reuse()
				if bytes.Equal(was, r.heap.Mem()[off+extent.Head:][:len(was)]) {
					t.Fatalf("%s: the memory was not reused", name)
				}
			}
		})
		want, err := r.Get(k, 0)
		switch {
		case (err == nil) != (got == store.Found) || got == store.Ask:
			t.Errorf("%s: outcome %d, Get says %v", name, got, err)
		case got == store.Found && (rd.Item().Version == old || rd.Item().Version != want.Version):
			t.Errorf("%s: found version %d, %d was replaced by %d", name, rd.Item().Version, old, want.Version)
		}
	}
}

// TestItemBits flips every bit of an item after its entry was read: it is not found, and
// after a bounded number of READs the server is asked (S7, E1).
func TestItemBits(t *testing.T) {
	r := open(t, store.Store, store.MinMemory)
	rd := r.reader()
	k := key(1)
	r.MustPut(k, 27)
	from := r.find(k.Hash, k.Bytes).off + extent.Head
	size := atKey - extent.Head + 16 + 27
	for bit := range size * 8 {
		b := &r.heap.Mem()[int(from)+bit/8]
		*b ^= 1 << (bit % 8)
		if got := rd.Search(k, nil); got != store.Ask || rd.Spans != maxSpans {
			t.Errorf("bit %d: outcome %d after %d READs", bit, got, rd.Spans)
		}
		*b ^= 1 << (bit % 8)
	}
	if got := rd.Search(k, nil); got != store.Found {
		t.Errorf("outcome %d", got)
	}
}

// TestTagOfAnother has two keys with one hash: the one that does not exist is proven missing,
// although an entry has its tag.
func TestTagOfAnother(t *testing.T) {
	r := open(t, store.Store, store.MinMemory)
	rd := r.reader()
	for n := range choices + 1 {
		for i := range choices + 1 {
			want := store.Missing
			if i < n {
				want = store.Found
			}
			if got := rd.Search(colliding(i), nil); got != want {
				t.Errorf("%d keys of one hash: key %d has outcome %d, want %d", n, i, got, want)
			}
		}
		if n < choices {
			r.MustPut(colliding(n), 20)
		}
	}
	if _, err := r.Put(colliding(choices), store.Entry{}, store.Always(), 0); err == nil {
		t.Error("a fourth key of one hash was accepted")
	}
}

// forge makes bytes valid as the bucket or item that a Finder expects, whatever else they contain.
func forge(f *Finder, b []byte) {
	put := binary.NativeEndian.PutUint64
	if !f.reading {
		put(b[16:], binary.NativeEndian.Uint64(b[16:])&(1<<lengthBits-1)|f.tag<<lengthBits)
		e, _ := parseBucket(b)
		put(b[24:], e.sum())
		return
	}
	field := func(at int) []byte { return b[at-extent.Head:] }
	put(field(atWord), extent.NewWord(f.e.version(), int(extent.RecordIn(b, atBody-extent.Head).KeySize())))
	if r := extent.RecordIn(b, atBody-extent.Head); r.IsWhole() {
		put(field(atBodySum), bodySum(r))
	}
	put(field(atHeadSum), headSum(field(atBodySum)))
}

// FuzzFinder gives a Finder any layout and any bytes: it must not panic, ask for a span outside
// of the areas, or search forever.
func FuzzFinder(f *testing.F) {
	table := layout{hashing{100, 7}, 1 << 16}
	words := func(words ...uint64) (b []byte) {
		for _, w := range words {
			b = binary.NativeEndian.AppendUint64(b, w)
		}
		return b
	}
	f.Add(table.encode(), []byte("key"), []byte{})
	sane := entryOf(5, 16, 64, table.tagOf(9))
	f.Add(table.encode(), []byte("key"), append(words(sane.w0, sane.w1, sane.w2, 0, 1, 0, extent.NewWord(5, 3), 9, 0, 4<<32), "keyvalu"...))
	f.Add(table.encode(), []byte("key"), words(1|1<<versionBits, 1<<offsetBits|1, 3, 0))
	f.Fuzz(func(t *testing.T, encoded, key, memory []byte) {
		finder, err := NewFinder(encoded)
		if err != nil {
			return
		}
		areas := [...]uint64{finder.layout.buckets * bucketSize, finder.layout.itemMemory}
		span := finder.Start(store.Key{Hash: 9, Bytes: key})
		for n := 1; ; n++ {
			if span.Area >= len(areas) || span.Off < 0 || span.Off%8 != 0 || span.Len <= 0 || uint64(span.Off)+uint64(span.Len) > areas[span.Area] {
				t.Fatalf("span %+v in areas of %v bytes", span, areas)
			}
			b := make([]byte, span.Len)
			memory = memory[copy(b, memory):]
			if b[0]%4 != 0 {
				forge(finder, b)
			}
			var outcome store.Outcome
			if span, outcome = finder.Look(b); outcome == store.Found && !bytes.HasPrefix(b[atKey-extent.Head:], key) {
				t.Fatalf("found %q in %q", key, b)
			}
			if outcome != store.More {
				return
			}
			if n > maxSpans {
				t.Fatalf("%d spans", n)
			}
		}
	})
}

func TestLayout(t *testing.T) {
	want := layout{hashing{12345, 0xabcdef0123456789}, 1 << 33}
	if got, err := parseLayout(want.encode()); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []layout{{hashing{2, 1}, 100}, {hashing{maxBuckets + 1, 1}, 100}, {hashing{3, 1}, maxMemory + 1}} {
		if _, err := parseLayout(bad.encode()); err == nil {
			t.Errorf("the layout %+v is accepted", bad)
		}
	}
	for n := range layoutSize {
		if _, err := parseLayout(want.encode()[:n]); err == nil {
			t.Errorf("a layout of %d bytes is accepted", n)
		}
	}
	if got := len(want.encode()); got > store.MaxLayout {
		t.Errorf("%d bytes", got)
	}
}

func TestFinderAllocates(t *testing.T) {
	r := open(t, store.Store, store.MinMemory)
	rd := r.reader()
	for i := range 300 {
		r.MustPut(key(i), 32)
	}
	there, missing := key(5), key(500)
	if n := testing.AllocsPerRun(600, func() { rd.Search(there, nil); rd.Search(missing, nil) }); n != 0 {
		t.Errorf("%v allocations for a search", n)
	}
	if _, ok := rd.Touch(); ok {
		t.Error("there is a word to add to")
	}
}

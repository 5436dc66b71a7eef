package kvl_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/remora-kv/remora/kvl"
)

// mixed returns a model of n items of many lengths, with random links.
func mixed(seed uint64, n, longest int) *model {
	rng := rand.New(rand.NewPCG(seed, 1))
	keys := keysFrom(n)
	m := newModel()
	for _, key := range keys {
		value := make([]byte, rng.IntN(longest))
		for i := range value {
			value[i] = byte(rng.Uint32())
		}
		list := make([]string, rng.IntN(40)*rng.IntN(10))
		for i := range list {
			list[i] = keys[rng.IntN(n)]
		}
		m.item(fmt.Sprint("type", rng.IntN(3)), key,
			map[string]any{"value": value, "link": keys[rng.IntN(n)], "list": list})
	}
	return m
}

func TestMoreThanOneArea(t *testing.T) {
	m := mixed(1, 500, 300)
	image := m.build(t, kvl.Config{Generation: 1, AreaSize: 16 << 10})
	if n := len(image.Areas()); n < 10 || n != image.Stats().Areas {
		t.Fatalf("%d areas, Stats has %d: the test is to be of many", n, image.Stats().Areas)
	}
	total := 0
	for i, a := range image.Areas() {
		if len(a.Bytes()) > 16<<10 {
			t.Errorf("area %d has %d bytes", i, len(a.Bytes()))
		}
		total += len(a.Bytes())
	}
	if int64(total) != image.Stats().Bytes {
		t.Errorf("areas have %d bytes, Stats %d", total, image.Stats().Bytes)
	}
	m.check(t, image)
}

// An item that is longer than an area gets one of its own, without effect on others.
func TestItemsLongerThanAnArea(t *testing.T) {
	m := mixed(2, 100, 20<<10)
	m.item("t", "huge", map[string]any{"value": bytes.Repeat([]byte("huge"), 1<<20), "link": "k1"})
	m.item("t", "behind", map[string]any{"link": "huge", "list": keysFrom(100)})
	image := m.build(t, kvl.Config{Generation: 1, AreaSize: 8 << 10})
	m.check(t, image)
	l, _ := image.Lookup([]byte("huge"))
	if l.Offset() != 0 || len(image.Areas()[l.Area()].Bytes()) != l.Len() || l.Len() <= 4<<20 {
		t.Errorf("the huge item is at %v, in an area of %d bytes", l, len(image.Areas()[l.Area()].Bytes()))
	}
}

// K4: the same input gives the same bytes, wherever areas are and whatever was built before.
func TestSameInputSameBytes(t *testing.T) {
	input := mixed(3, 400, 200)
	build := func(m *kvl.Memory) *kvl.Image {
		return input.build(t, kvl.Config{Generation: 77, AreaSize: 32 << 10, Memory: m})
	}
	exported := kvl.NewMemory(func(_ string, size int) ([]byte, any, func() error, error) {
		return make([]byte, size), "region", func() error { return nil }, nil
	})
	one, other := build(kvl.NewMemory(nil)), build(exported)
	if len(one.Areas()) != len(other.Areas()) {
		t.Fatalf("%d and %d areas", len(one.Areas()), len(other.Areas()))
	}
	for i := range one.Areas() {
		if !bytes.Equal(one.Areas()[i].Bytes(), other.Areas()[i].Bytes()) {
			t.Errorf("area %d differs", i)
		}
		if other.Areas()[i].Owner() != "region" {
			t.Errorf("area %d was not allocated by the AllocFunc", i)
		}
	}
	if !bytes.Equal(one.Schema().Bytes(), other.Schema().Bytes()) {
		t.Error("the schemas differ")
	}
	third := input.build(t, kvl.Config{Generation: 78, AreaSize: 32 << 10})
	if bytes.Equal(one.Areas()[0].Bytes(), third.Areas()[0].Bytes()) {
		t.Error("another generation has the same bytes")
	}
}

// Foreign links never reach out of the areas.
func TestRecordsOutside(t *testing.T) {
	m := mixed(4, 50, 100)
	image := m.build(t, kvl.Config{Generation: 5})
	size := len(image.Areas()[0].Bytes())
	for name, l := range map[string]kvl.Link{
		"nowhere":            {},
		"another area":       kvl.NewLink(1, 0, 64, 5),
		"the last area":      kvl.NewLink(kvl.MaxAreas-1, 0, 64, 5),
		"behind the end":     kvl.NewLink(0, int64(size), 64, 5),
		"across the end":     kvl.NewLink(0, int64(size)-56, 64, 5),
		"far behind the end": kvl.NewLink(0, kvl.MaxArea-8, 64, 5),
		"too long":           kvl.NewLink(0, 0, kvl.MaxRecord, 5),
		"another generation": kvl.NewLink(0, 0, 64, 6),
	} {
		if b, ok := image.Record(l); ok || b != nil {
			t.Errorf("%s: %v has %d bytes", name, l, len(b))
		}
		if it, err := image.Item(l); err == nil || !it.IsZero() {
			t.Errorf("%s: %v is an item", name, l)
		}
	}
	if b, ok := image.Record(kvl.NewLink(0, 0, size, 5)); !ok || len(b) != size || cap(b) != size {
		t.Errorf("a whole area: %d bytes, %v", len(b), ok)
	}
}

func TestLookupOfOthers(t *testing.T) {
	m := mixed(6, 1000, 50)
	image := m.build(t, kvl.Config{Generation: 5})
	for i := range 10000 {
		if l, ok := image.Lookup(fmt.Append(nil, "other", i)); ok || !l.IsZero() {
			t.Fatalf("other%d is at %v", i, l)
		}
	}
	for _, key := range []string{"", "k", "k1000", "\x00", "k1\x00"} {
		if l, ok := image.Lookup([]byte(key)); ok {
			t.Errorf("%q is at %v", key, l)
		}
	}
}

// K2 and the data path: what servers and clients do with each item does not allocate.
func TestNoAllocations(t *testing.T) {
	m := mixed(7, 100, 100)
	image := m.build(t, kvl.Config{Generation: 5})
	key := []byte("k7")
	value, _ := image.Schema().Number("value")
	list, _ := image.Schema().Number("list")
	sum := 0
	work := func() {
		l, _ := image.Lookup(key)
		it, err := image.Item(l)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := it.Bytes(value)
		sum += len(b)
		all, _ := it.List(list)
		for i := range all.N() {
			sum += all.At(i).Len()
		}
		for a := range it.Attrs() {
			sum += len(a.Bytes())
		}
	}
	if n := testing.AllocsPerRun(100, work); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// K5: the memory that a Builder needs for items, keys and edges.
func TestMemoryOfABuilder(t *testing.T) {
	const items, edges = 20000, 400000
	memory := kvl.NewMemory(nil)
	b := newBuilder(t, kvl.Config{Generation: 1, Memory: memory})
	typ, to := number(t, b, "t"), number(t, b, "to")
	var key, other []byte
	for i := range items {
		key = nodeKey(key, i)
		b.Begin(typ, key)
		b.Link(typ, nodeKey(other, i/2))
		if err := b.End(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range edges {
		key, other = nodeKey(key, i%items), nodeKey(other, i*7%items)
		b.Edge(key, to, other)
	}
	used := make(map[string]int64)
	for _, u := range memory.Usage() {
		used[u.Purpose] = u.Bytes
	}
	const slack = 4 << 20 // memory is allocated in pieces of at most this size
	for purpose, most := range map[string]int64{
		"kvl builder items": items * (8 + 8 + 8),
		"kvl builder keys":  items * (18 + 10 + 7),
		"kvl builder table": items * 26,
		"kvl builder edges": edges * 8,
	} {
		if used[purpose] == 0 || used[purpose] > most+slack {
			t.Errorf("%s: %d bytes, want at most %d", purpose, used[purpose], most+slack)
		}
		delete(used, purpose)
	}
	if len(used) != 0 {
		t.Errorf("in use beside: %v", used)
	}
	if s := seal(t, b).Stats(); s.Links != items+edges {
		t.Errorf("%d links", s.Links)
	}
}

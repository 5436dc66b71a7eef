package kvl_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/remora-kv/remora/kvl"
)

func sortedNames(attrs map[string]any) []string { return slices.Sorted(maps.Keys(attrs)) }

// keysFrom returns n keys.
func keysFrom(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprint("k", i)
	}
	return keys
}

func TestItemsComeBack(t *testing.T) {
	m := newModel()
	m.item("a", "one", map[string]any{"text": []byte("hello"), "to": "two", "all": []string{"one", "two", "three"}})
	m.item("b", "two", map[string]any{"to": "", "empty": []byte{}, "none": []string{}})
	m.item("b", "three", nil)
	m.check(t, m.build(t, kvl.Config{Generation: 1<<40 + 3}))
}

func TestAnImageWithoutItems(t *testing.T) {
	image := newModel().build(t, kvl.Config{Generation: 1})
	if _, ok := image.Lookup([]byte("a")); ok || len(image.Areas()) != 0 || image.Stats().Bytes != 0 {
		t.Errorf("an empty image has %+v", image.Stats())
	}
	newModel().check(t, image)
}

// Links lead to items added before and after, to themselves, and in cycles (K3).
func TestCyclesAndSelfLinks(t *testing.T) {
	m := newModel()
	m.item("n", "a", map[string]any{"next": "b", "self": "a", "list": []string{"a", "b", "c", "a"}})
	m.item("n", "b", map[string]any{"next": "c", "self": "b"})
	m.item("n", "c", map[string]any{"next": "a", "self": "c"})
	image := m.build(t, kvl.Config{Generation: 1})
	m.check(t, image)
	next, _ := image.Schema().Number("next")
	start, _ := image.Lookup([]byte("a"))
	l := start
	for range 3 {
		it, err := image.Item(l)
		if err != nil {
			t.Fatal(err)
		}
		l, _ = it.Link(next)
	}
	if l != start {
		t.Errorf("following three links from %v leads to %v", start, l)
	}
}

var listLengths = []int{0, 1, 15, 16, 17, 100, 101, 116, 117, 216, 217, 10000}

// Lists of all lengths keep their order, whether they are added with their item, or one by one
// before or after it (K3).
func TestLists(t *testing.T) {
	targets := keysFrom(10000)
	for _, inline := range []int{-1, 1, 16, 100} {
		for _, n := range listLengths {
			t.Run(fmt.Sprintf("inline%d/%d", inline, n), func(t *testing.T) { testList(t, inline, targets[:n]) })
		}
	}
}

func testList(t *testing.T, inline int, list []string) {
	m := newModel()
	b := newBuilder(t, kvl.Config{Generation: 9, Inline: inline, AreaSize: 8 << 10})
	name := number(t, b, "list")
	add := func(key string, attrs map[string]any) {
		t.Helper()
		m.item("t", key, attrs)
		if err := addItem(t, b, m.byKey[key]); err != nil {
			t.Fatal(err)
		}
	}
	edges := func(from string, to []string) {
		for _, key := range to {
			b.Edge([]byte(from), name, []byte(key))
		}
	}
	half := list[:len(list)/2]
	edges("before", list)
	edges("both", half)
	add("given", map[string]any{"list": list})
	for _, key := range []string{"before", "after", "both"} {
		add(key, map[string]any{"list": []string{}})
	}
	for _, key := range list {
		add(key, nil)
	}
	edges("after", list)
	edges("both", list[len(half):])
	for _, key := range []string{"before", "after", "both"} {
		m.byKey[key].attrs["list"] = list
	}
	image := seal(t, b)
	m.check(t, image)
	if want := wantChunks(len(list), inline); image.Stats().Chunks != 4*want || image.Stats().Links != int64(4*len(list)) {
		t.Errorf("stats %+v, want %d chunks, %d links", image.Stats(), 4*want, 4*len(list))
	}
}

func wantChunks(n, inline int) int64 {
	return int64(max(0, n-max(inline, 0))+kvl.ChunkLinks-1) / kvl.ChunkLinks
}

// Edge adds links under several names, interleaved, to lists that the items have themselves,
// between, before and behind their attributes.
func TestEdgesOfManyNames(t *testing.T) {
	b := newBuilder(t, kvl.Config{Generation: 1})
	m := newModel()
	for _, name := range []string{"t", "e1", "bytes", "e2", "list", "e3"} {
		number(t, b, name)
	}
	for i := range 50 {
		key := fmt.Sprint("k", i)
		m.item("t", key, map[string]any{"bytes": []byte(key), "list": []string{"k0", key}})
		if err := addItem(t, b, m.byKey[key]); err != nil {
			t.Fatal(err)
		}
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		from, to := fmt.Sprint("k", rng.IntN(40)), fmt.Sprint("k", rng.IntN(50))
		name := []string{"e1", "e2", "e3", "list"}[rng.IntN(4)]
		b.Edge([]byte(from), number(t, b, name), []byte(to))
		list, _ := m.byKey[from].attrs[name].([]string)
		m.byKey[from].attrs[name] = append(list, to)
	}
	m.check(t, seal(t, b))
}

func TestAnEdgeOfWhatIsNoList(t *testing.T) {
	b := newBuilder(t, kvl.Config{Generation: 1})
	m := newModel()
	m.item("t", "a", map[string]any{"x": "a"})
	if err := addItem(t, b, m.items[0]); err != nil {
		t.Fatal(err)
	}
	b.Edge([]byte("a"), number(t, b, "x"), []byte("a"))
	if err := sealError(t, b); !strings.Contains(err.Error(), `"a"`) || !strings.Contains(err.Error(), `"x"`) {
		t.Errorf("%v, want an error that names item and attribute", err)
	}
}

// NULL on either side of an edge adds nothing.
func TestEdgesFromAndToNowhere(t *testing.T) {
	b := newBuilder(t, kvl.Config{Generation: 1})
	m := newModel()
	m.item("t", "a", map[string]any{"x": []string{}})
	if err := addItem(t, b, m.items[0]); err != nil {
		t.Fatal(err)
	}
	b.Edge([]byte("a"), number(t, b, "x"), nil)
	b.Edge(nil, number(t, b, "x"), []byte("a"))
	m.check(t, seal(t, b))
}

// The error for a duplicate key names it, even if it was added long before.
func TestDuplicateKeys(t *testing.T) {
	for _, between := range []int{0, 1, 1000} {
		b := newBuilder(t, kvl.Config{Generation: 1})
		typ := number(t, b, "t")
		var err error
		end := func(key string) {
			b.Begin(typ, []byte(key))
			err = errors.Join(err, b.End())
		}
		end("twice")
		for i := range between {
			end(fmt.Sprint("k", i))
		}
		end("twice")
		if err == nil {
			err = sealError(t, b)
		}
		if !errors.Is(err, kvl.ErrDuplicate) || !strings.Contains(err.Error(), `"twice"`) {
			t.Errorf("%d between: %v, want ErrDuplicate that names the key", between, err)
		}
	}
}

// After a duplicate the Builder fails, however much is added.
func TestAfterADuplicate(t *testing.T) {
	b := newBuilder(t, kvl.Config{Generation: 1})
	typ := number(t, b, "t")
	for i := range 500 {
		key := fmt.Sprint("k", i/2)
		b.Begin(typ, []byte(key))
		b.Link(typ, []byte(key))
		_ = b.End() // Seal returns the error again
		b.Edge([]byte(key), typ, []byte(key))
	}
	if err := sealError(t, b); !errors.Is(err, kvl.ErrDuplicate) || !strings.Contains(err.Error(), `"k0"`) {
		t.Errorf("%v, want ErrDuplicate of k0", err)
	}
}

// An invalid item is left out, and the Builder remains usable.
func TestRefusedItems(t *testing.T) {
	b := newBuilder(t, kvl.Config{Generation: 1})
	typ := number(t, b, "t")
	long := bytes.Repeat([]byte("x"), kvl.MaxKey+1)
	refused := map[string]func(){
		"no key":           func() { b.Begin(typ, nil) },
		"long key":         func() { b.Begin(typ, long) },
		"long link":        func() { b.Begin(typ, []byte("a")); b.Link(typ, long) },
		"attribute twice":  func() { b.Begin(typ, []byte("a")); b.Link(typ, nil); b.Bytes(typ, nil) },
		"twice, not first": func() { b.Begin(typ, []byte("a")); b.Bytes(typ, nil); b.Link(0, nil); b.List(typ) },
	}
	for name, give := range refused {
		give()
		if err := b.End(); !errors.Is(err, kvl.ErrItem) {
			t.Errorf("%s: %v, want ErrItem", name, err)
		}
	}
	m := newModel()
	m.item("t", "a", map[string]any{"t": "a"})
	m.item("t", string(long[1:]), map[string]any{"t": string(long[1:])})
	for _, it := range m.items {
		if err := addItem(t, b, it); err != nil {
			t.Fatal(err)
		}
	}
	m.check(t, seal(t, b))
}

func TestMisuse(t *testing.T) {
	cases := map[string]func(b *kvl.Builder){
		"End without Begin":   func(b *kvl.Builder) { _ = b.End() },
		"Bytes without Begin": func(b *kvl.Builder) { b.Bytes(0, nil) },
		"Begin twice":         func(b *kvl.Builder) { b.Begin(0, []byte("a")); b.Begin(0, []byte("b")) },
		"Add without List":    func(b *kvl.Builder) { b.Begin(0, []byte("a")); b.Bytes(0, nil); b.Add([]byte("b")) },
		"Add first":           func(b *kvl.Builder) { b.Begin(0, []byte("a")); b.Add([]byte("b")) },
		"type not named":      func(b *kvl.Builder) { b.Begin(1, []byte("a")) },
		"attribute not named": func(b *kvl.Builder) { b.Begin(0, []byte("a")); b.Link(1, nil) },
		"edge not named":      func(b *kvl.Builder) { b.Edge([]byte("a"), 1, []byte("b")) },
		"Seal before End":     func(b *kvl.Builder) { b.Begin(0, []byte("a")); _, _ = b.Seal(context.Background()) },
		"use after Close":     func(b *kvl.Builder) { b.Close(); b.Begin(0, []byte("a")) },
	}
	for name, misuse := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBuilder(t, kvl.Config{Generation: 1})
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			misuse(b)
		})
	}
}

func TestConfigMistakes(t *testing.T) {
	_, err := kvl.NewBuilder(kvl.Config{AreaSize: 5, Inline: 1 << 30, Dangling: 9})
	if err == nil {
		t.Fatal("no error")
	}
	for _, word := range []string{"AreaSize", "Inline", "Dangling"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("the error %v does not mention %s", err, word)
		}
	}
}

// Seal ends when its context does, and frees all memory.
func TestSealEndsWithItsContext(t *testing.T) {
	memory := kvl.NewMemory(nil)
	b := newBuilder(t, kvl.Config{Generation: 1, Memory: memory})
	if err := addItem(t, b, &modelItem{typ: "t", key: "a"}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := b.Seal(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
	if left := memory.Usage(); len(left) != 0 {
		t.Errorf("in use after Seal: %+v", left)
	}
}

// Close of a Builder and of an Image free all memory.
func TestNothingIsLeft(t *testing.T) {
	memory := kvl.NewMemory(nil)
	t.Cleanup(func() {
		if left := memory.Usage(); len(left) != 0 {
			t.Errorf("in use after Close of the Image: %+v", left)
		}
	})
	m := newModel()
	keys := keysFrom(3000)
	for _, key := range keys {
		m.item("t", key, map[string]any{"list": keys[:200]})
	}
	b := newBuilder(t, kvl.Config{Generation: 1, Memory: memory, AreaSize: 1 << 20})
	for _, it := range m.items {
		if err := addItem(t, b, it); err != nil {
			t.Fatal(err)
		}
		b.Edge([]byte(it.key), number(t, b, "edges"), []byte("k0"))
	}
	b.Close()
	b.Close()
	if left := memory.Usage(); len(left) != 0 {
		t.Errorf("in use after Close of the Builder: %+v", left)
	}
	image := m.build(t, kvl.Config{Generation: 1, Memory: memory, AreaSize: 1 << 20})
	for _, u := range memory.Usage() {
		if u.Purpose != "kvl items" && u.Purpose != "kvl index" {
			t.Errorf("in use after Seal: %+v", u)
		}
	}
	m.check(t, image)
}

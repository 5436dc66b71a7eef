package kvl_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/remora-kv/remora/kvl"
)

// specimen returns an item with all kinds of attributes and the chunk behind it, read in
// generation 3.
func specimen(t *testing.T) (item, chunk []byte, toItem, toChunk kvl.Link) {
	t.Helper()
	m := newModel()
	list := make([]string, 20)
	for i := range list {
		list[i] = "a"
	}
	m.item("t", "a", map[string]any{"bytes": []byte("some bytes"), "link": "a", "nowhere": "", "list": list, "none": []string{}})
	image := m.build(t, kvl.Config{Generation: 3})
	toItem, _ = image.Lookup([]byte("a"))
	it, err := image.Item(toItem)
	if err != nil {
		t.Fatal(err)
	}
	n, _ := image.Schema().Number("list")
	all, _ := it.List(n)
	toChunk = all.Next()
	chunk, _ = image.Record(toChunk)
	return bytes.Clone(it.Record()), bytes.Clone(chunk), toItem, toChunk
}

// K1: Parse notices a change of any bit, another length, another generation and another kind of
// record.
func TestCorruptBytesAreNoticed(t *testing.T) {
	item, chunk, toItem, toChunk := specimen(t)
	parseItem := func(b []byte, l kvl.Link, g uint64) error { _, err := kvl.ParseItem(b, l, g); return err }
	parseChunk := func(b []byte, l kvl.Link, g uint64) error { _, err := kvl.ParseChunk(b, l, g); return err }
	t.Run("item", func(t *testing.T) { testCorrupt(t, item, toItem, parseItem) })
	t.Run("chunk", func(t *testing.T) { testCorrupt(t, chunk, toChunk, parseChunk) })
	if err := parseItem(chunk, toChunk, 3); !errors.Is(err, kvl.ErrCorrupt) {
		t.Errorf("a chunk as an item: %v", err)
	}
	if err := parseChunk(item, toItem, 3); !errors.Is(err, kvl.ErrCorrupt) {
		t.Errorf("an item as a chunk: %v", err)
	}
}

func testCorrupt(t *testing.T, b []byte, l kvl.Link, parse func([]byte, kvl.Link, uint64) error) {
	if err := parse(b, l, 3); err != nil {
		t.Fatal(err)
	}
	want := func(what string, b []byte, l kvl.Link, generation uint64) {
		t.Helper()
		if err := parse(b, l, generation); !errors.Is(err, kvl.ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", what, err)
		}
	}
	for i := range b {
		for bit := range 8 {
			b[i] ^= 1 << bit
			if err := parse(b, l, 3); !errors.Is(err, kvl.ErrCorrupt) {
				t.Errorf("bit %d of byte %d changed: %v, want ErrCorrupt", bit, i, err)
			}
			b[i] ^= 1 << bit
		}
	}
	for n := range b {
		want("shorter bytes", b[:n], l, 3)
		want("shorter bytes and link", b[:n], kvl.NewLink(0, 0, n, 3), 3)
	}
	longer := slices.Concat(b, make([]byte, 8))
	want("longer bytes", longer, l, 3)
	want("longer bytes and link", longer, kvl.NewLink(0, 0, len(longer), 3), 3)
	want("another generation", b, kvl.NewLink(0, 0, len(b), 4), 4)
	want("a link of another generation", b, kvl.NewLink(0, 0, len(b), 4), 3)
	want("a generation with the same low bits", b, l, 3+1<<32)
	want("no bytes", nil, kvl.Link{}, 3)
	want("half of another record", slices.Concat(b[:len(b)/2], make([]byte, len(b)-len(b)/2)), l, 3)
}

// K6: an item may have names that a reader does not ask for, and returns false for names that it
// does not have.
func TestUnknownAttributes(t *testing.T) {
	item, _, l, _ := specimen(t)
	it, err := kvl.ParseItem(item, l, 3)
	if err != nil {
		t.Fatal(err)
	}
	for name := range uint16(100) {
		_, isBytes := it.Bytes(name)
		_, isLink := it.Link(name)
		_, isList := it.List(name)
		var kind kvl.Kind
		for a := range it.Attrs() {
			if a.Name == name {
				kind = a.Kind
			}
		}
		if isBytes != (kind == kvl.KindBytes) || isLink != (kind == kvl.KindLink) || isList != (kind == kvl.KindList) {
			t.Errorf("name %d of kind %d: bytes %v, link %v, list %v", name, kind, isBytes, isLink, isList)
		}
	}
}

func TestAttributesByPlace(t *testing.T) {
	item, _, l, _ := specimen(t)
	it, err := kvl.ParseItem(item, l, 3)
	if err != nil {
		t.Fatal(err)
	}
	if it.Len() != 5 {
		t.Fatalf("%d attributes", it.Len())
	}
	i := 0
	for a := range it.Attrs() {
		if got := it.Attr(i); got.Name != a.Name || got.Kind != a.Kind || !bytes.Equal(got.Bytes(), a.Bytes()) {
			t.Errorf("attribute %d is %v, want %v", i, got, a)
		}
		switch a.Kind {
		case kvl.KindLink:
			if got, _ := it.Link(a.Name); got != a.Link() {
				t.Errorf("link %d is %v, want %v", a.Name, got, a.Link())
			}
		case kvl.KindList:
			if got, _ := it.List(a.Name); got.Len() != a.List().Len() {
				t.Errorf("list %d has %d links, want %d", a.Name, got.Len(), a.List().Len())
			}
		case kvl.KindBytes:
		}
		i++
	}
	c := it.Clone()
	clear(item)
	if string(c.Key()) != "a" {
		t.Error("a clone shares memory")
	}
}

func TestViewsRefuseWhatIsNotThere(t *testing.T) {
	item, chunk, toItem, toChunk := specimen(t)
	it, err := kvl.ParseItem(item, toItem, 3)
	if err != nil {
		t.Fatal(err)
	}
	c, err := kvl.ParseChunk(chunk, toChunk, 3)
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func(){
		"attribute -1": func() { it.Attr(-1) },
		"attribute 5":  func() { it.Attr(5) },
		"not a link":   func() { it.Attr(0).Link() },
		"not a list":   func() { it.Attr(0).List() },
		"chunk link":   func() { c.At(c.N()) },
		"zero list":    func() { kvl.List{}.At(0) },
		"zero chunk":   func() { kvl.Chunk{}.At(0) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
	if (kvl.List{}).Len() != 0 || !(kvl.List{}).Next().IsZero() || !(kvl.Chunk{}).Next().IsZero() {
		t.Error("a zero list or chunk is not empty")
	}
}

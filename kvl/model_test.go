package kvl_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/remora-kv/remora/kvl"
)

// model is the expected contents of an image: items in the order of their addition, with
// keys in place of links.
type model struct {
	items []*modelItem
	byKey map[string]*modelItem
}

type modelItem struct {
	typ, key string
	attrs    map[string]any // []byte, string (a link's key, "" nowhere), []string (a list)
}

func newModel() *model { return &model{byKey: make(map[string]*modelItem)} }

func (m *model) item(typ, key string, attrs map[string]any) {
	it := &modelItem{typ, key, attrs}
	m.items = append(m.items, it)
	m.byKey[key] = it
}

// number returns the number of a name.
func number(tb testing.TB, b *kvl.Builder, name string) uint16 {
	tb.Helper()
	n, err := b.Name(name)
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

// addItem adds an item to a builder.
func addItem(tb testing.TB, b *kvl.Builder, it *modelItem) error {
	tb.Helper()
	b.Begin(number(tb, b, it.typ), []byte(it.key))
	for _, name := range sortedNames(it.attrs) {
		n := number(tb, b, name)
		switch v := it.attrs[name].(type) {
		case []byte:
			b.Bytes(n, v)
		case string:
			b.Link(n, []byte(v))
		case []string:
			b.List(n)
			for _, key := range v {
				b.Add([]byte(key))
			}
		default:
			tb.Fatalf("attribute %s has a %T", name, v)
		}
	}
	return b.End()
}

// build makes the image of a model.
func (m *model) build(tb testing.TB, cfg kvl.Config) *kvl.Image {
	tb.Helper()
	b := newBuilder(tb, cfg)
	for _, it := range m.items {
		if err := addItem(tb, b, it); err != nil {
			tb.Fatal(err)
		}
	}
	return seal(tb, b)
}

// check compares an image with the model, in both directions.
func (m *model) check(tb testing.TB, image *kvl.Image) {
	tb.Helper()
	for _, want := range m.items {
		l, ok := image.Lookup([]byte(want.key))
		if !ok {
			tb.Fatalf("%q does not exist", want.key)
		}
		got, err := image.Item(l)
		if err != nil {
			tb.Fatalf("%q: %v", want.key, err)
		}
		checkItem(tb, image, got, want)
	}
	n := 0
	for l := range image.Items() {
		it, err := image.Item(l)
		if err != nil {
			tb.Fatal(err)
		}
		if m.byKey[string(it.Key())] == nil {
			tb.Fatalf("%q exists but was not added", it.Key())
		}
		n++
	}
	if n != len(m.items) || image.Stats().Items != int64(n) {
		tb.Fatalf("%d items, Stats has %d, want %d", n, image.Stats().Items, len(m.items))
	}
}

func checkItem(tb testing.TB, image *kvl.Image, got kvl.Item, want *modelItem) {
	tb.Helper()
	s := image.Schema()
	if string(got.Key()) != want.key || s.Name(got.Type()) != want.typ || got.Generation() != image.Generation() {
		tb.Fatalf("item %s %q of generation %d, want %s %q", s.Name(got.Type()), got.Key(), got.Generation(), want.typ, want.key)
	}
	if got.Len() != len(want.attrs) {
		tb.Fatalf("%q has %d attributes, want %d", want.key, got.Len(), len(want.attrs))
	}
	for name, value := range want.attrs {
		n, ok := s.Number(name)
		if !ok {
			tb.Fatalf("no number for %q", name)
		}
		if err := checkAttr(image, got, n, value); err != nil {
			tb.Fatalf("%q, %s: %v", want.key, name, err)
		}
	}
}

func checkAttr(image *kvl.Image, it kvl.Item, name uint16, value any) error {
	switch want := value.(type) {
	case []byte:
		if got, ok := it.Bytes(name); !ok || !bytes.Equal(got, want) {
			return fmt.Errorf("is %q, %v, want %q", got, ok, want)
		}
	case string:
		l, ok := it.Link(name)
		if !ok {
			return fmt.Errorf("is no link")
		}
		return checkLink(image, l, want)
	case []string:
		return checkList(image, it, name, want)
	}
	return nil
}

func checkLink(image *kvl.Image, l kvl.Link, want string) error {
	if want == "" || l.IsZero() {
		if want == "" && l == (kvl.Link{}) {
			return nil
		}
		return fmt.Errorf("is %v, want a link to %q", l, want)
	}
	it, err := image.Item(l)
	if err != nil {
		return err
	}
	if string(it.Key()) != want {
		return fmt.Errorf("leads to %q, want %q", it.Key(), want)
	}
	return nil
}

func checkList(image *kvl.Image, it kvl.Item, name uint16, want []string) error {
	list, ok := it.List(name)
	if !ok || list.Len() != len(want) {
		return fmt.Errorf("has %d links, %v, want %d", list.Len(), ok, len(want))
	}
	i := 0
	for l := range image.Links(list) {
		if i == len(want) {
			return fmt.Errorf("has more links than it says")
		}
		if err := checkLink(image, l, want[i]); err != nil {
			return fmt.Errorf("link %d: %w", i, err)
		}
		i++
	}
	if i != len(want) {
		return fmt.Errorf("ends after %d links, want %d", i, len(want))
	}
	return nil
}

// sealError returns the error of Seal.
func sealError(tb testing.TB, b *kvl.Builder) error {
	tb.Helper()
	m, err := b.Seal(context.Background())
	if err == nil {
		_ = m.Close()
		tb.Fatal("sealed, want an error")
	}
	return err
}

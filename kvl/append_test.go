package kvl_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/remora-kv/remora/kvl"
)

// Append returns the links that At returns, in order.
func TestAppend(t *testing.T) {
	b, err := kvl.NewBuilder(kvl.Config{Generation: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	name, err := b.Name("to")
	if err != nil {
		t.Fatal(err)
	}
	const items = 130
	for i := range items {
		b.Begin(name, fmt.Append(nil, i))
		b.List(name)
		for j := range i {
			b.Add(fmt.Append(nil, j))
		}
		if err := b.End(); err != nil {
			t.Fatal(err)
		}
	}
	im, err := b.Seal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = im.Close() }()
	before := []kvl.Link{kvl.NewLink(1, 8, 8, 3)}
	for i := range items {
		l, _ := im.Lookup(fmt.Append(nil, i))
		item, err := im.Item(l)
		if err != nil {
			t.Fatal(err)
		}
		list, _ := item.List(name)
		got, want := list.Append(slices.Clone(before)), slices.Clone(before)
		for j := range list.N() {
			want = append(want, list.At(j))
		}
		for next := list.Next(); !next.IsZero(); {
			c, err := im.Chunk(next)
			if err != nil {
				t.Fatal(err)
			}
			got = c.Append(got)
			for j := range c.N() {
				want = append(want, c.At(j))
			}
			next = c.Next()
		}
		if !slices.Equal(got, want) || len(got) != i+1 {
			t.Errorf("list of %d: %v, want %v", i, got, want)
		}
	}
	if got := (kvl.Chunk{}).Append((kvl.List{}).Append(before)); !slices.Equal(got, before) {
		t.Errorf("Append of a zero list or chunk: %v", got)
	}
}

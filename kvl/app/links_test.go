package app

import (
	"context"
	"fmt"
	"testing"

	"github.com/remora-kv/remora/kvl"
)

func image(t testing.TB, links func(*kvl.Builder) error) *kvl.Image {
	t.Helper()
	b, err := kvl.NewBuilder(kvl.Config{Generation: 7, Inline: Inline})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := links(b); err != nil {
		t.Fatal(err)
	}
	im, err := b.Seal(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = im.Close() })
	return im
}

// at returns the item that a link leads to.
func at(t testing.TB, im *kvl.Image, l kvl.Link) kvl.Item {
	t.Helper()
	item, err := im.Item(l)
	if err != nil {
		t.Fatal(err)
	}
	return item
}

// behind returns the keys of the items that a list leads to.
func behind(t testing.TB, im *kvl.Image, list kvl.List) (keys []string) {
	t.Helper()
	for l := range im.Links(list) {
		keys = append(keys, string(at(t, im, l).Key()))
	}
	return keys
}

func TestLinksOfGraph(t *testing.T) {
	g := Graph{Nodes: 500, Edges: 11_000, Seed: 5}
	im := image(t, g.Links)
	n := namesOf(im.Schema())
	for i := range g.Nodes {
		l, ok := im.Lookup(UserKey(nil, i))
		if !ok {
			t.Fatalf("user %d is missing", i)
		}
		list, _ := at(t, im, l).List(n[followersAttr])
		var want []string
		for _, id := range g.Followers(i, nil) {
			want = append(want, string(UserKey(nil, int(id))))
		}
		if got := behind(t, im, list); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("user %d is followed by %v, want %v", i, got, want)
		}
	}
}

// With links there are the same items as with keys, with the same bytes.
func TestLinksAndValues(t *testing.T) {
	shop, city := Shop{Products: 20, Reviews: 400, Users: 30, Seed: 2}, City{Side: 13, Seed: 2}
	for name, data := range map[string]struct {
		links  func(*kvl.Builder) error
		values func(Put) (int, error)
	}{"shop": {shop.Links, shop.Values}, "city": {city.Links, city.Values}} {
		im, m := image(t, data.links), mapStore{}
		if _, err := data.values(m.put); err != nil {
			t.Fatal(err)
		}
		n := namesOf(im.Schema())
		items := 0
		for l := range im.Items() {
			items++
			item := at(t, im, l)
			v := value(m[string(item.Key())])
			for a := range attrs {
				want := v.get(a)
				if b, ok := item.Bytes(n[a]); ok && string(b) != string(want) {
					t.Errorf("%s: %s of %s is %q, want %q", name, attrNames[a], item.Key(), b, want)
				}
				if l, ok := item.Link(n[a]); ok && string(at(t, im, l).Key()) != string(want) {
					t.Errorf("%s: %s of %s leads to %s, want %s", name, attrNames[a], item.Key(), at(t, im, l).Key(), want)
				}
				if l, ok := item.List(n[a]); ok {
					var keys Keys
					if err := addKeys(context.Background(), m, v, a, &keys); err != nil {
						t.Error(err)
					}
					got := behind(t, im, l)
					if len(got) != keys.Len() || len(got) > 0 && got[len(got)-1] != string(keys.At(len(got)-1)) {
						t.Errorf("%s: %s of %s has %d, want %d", name, attrNames[a], item.Key(), len(got), keys.Len())
					}
				}
			}
		}
		if int64(items) != im.Stats().Items || items == 0 {
			t.Errorf("%s: %d items, %+v", name, items, im.Stats())
		}
	}
}

func BenchmarkLinksOfCity(b *testing.B) {
	c := City{Side: 400, Seed: 1}
	for b.Loop() {
		image(b, c.Links)
	}
	b.ReportMetric(float64(c.Items()*b.N)/b.Elapsed().Seconds(), "items/s")
}

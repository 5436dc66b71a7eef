package app

import (
	"bytes"
	"context"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/kvl"
	"github.com/remora-kv/remora/kvl/keli"
)

// served returns a session with a server of items.
func served(t *testing.T, links func(*kvl.Builder) error) *keli.Session {
	t.Helper()
	s, _ := servedAll(t, links)
	return s
}

// servedAll returns the client, too.
func servedAll(t *testing.T, links func(*kvl.Builder) error) (*keli.Session, *keli.Client) {
	t.Helper()
	set := provider.New()
	dev, err := set.Open(provider.Loop)
	if err != nil {
		t.Fatal(err)
	}
	far, err := set.Open(provider.Loop)
	if err != nil {
		t.Fatal(err)
	}
	addr, err := fabric.ParseAddr("loop:app")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Serve(context.Background(), far, addr, links)
	if err != nil {
		t.Fatal(err)
	}
	c, err := keli.Dial(context.Background(), addr.String(), keli.WithDevice(dev))
	if err != nil {
		t.Fatal(err)
	}
	session, err := c.Session()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, f := range []func() error{session.Close, c.Close, s.Close, dev.Close, far.Close} {
			if err := f(); err != nil {
				t.Error(err)
			}
		}
	})
	return session, c
}

func TestSearchByLinks(t *testing.T) {
	g := Graph{Nodes: 3000, Edges: 40_000, Seed: 5}
	s, c := servedAll(t, g.Links)
	for _, root := range []int{0, 17, 2999} {
		want := g.reach(root)
		if got, err := g.SearchByLinks(context.Background(), s, root, 0); err != nil || got != want {
			t.Errorf("from %d: %+v, %v; want %+v", root, got, err, want)
		}
		if got, err := g.SearchParallel(context.Background(), c, root, 0, 3); err != nil || got != want {
			t.Errorf("from %d, in parallel: %+v, %v; want %+v", root, got, err, want)
		}
	}
	if got, err := g.SearchByLinks(context.Background(), s, 17, 1000); err != nil || got.Users != 1000 {
		t.Errorf("%+v, %v; want 1000 users", got, err)
	}
}

func TestPageByLinks(t *testing.T) {
	shop := Shop{Products: 40, Reviews: 2000, Users: 300, Seed: 2}
	s := served(t, shop.Links)
	for product := range shop.Products {
		var b bytes.Buffer
		if err := shop.PageByLinks(context.Background(), s, product, &b); err != nil || b.String() != shop.page(product) {
			t.Fatalf("product %d: %v, %.200q, want %.200q", product, err, b.String(), shop.page(product))
		}
	}
}

func TestMatchByLinks(t *testing.T) {
	c := City{Side: 50, Seed: 4}
	s := served(t, c.Links)
	for i := range 500 {
		p := c.Signal(i)
		got, err := c.MatchByLinks(context.Background(), s, p)
		if want := c.match(p); err != nil || got != want {
			t.Errorf("%+v: %+v, %v; want %+v", p, got, err, want)
		}
	}
}

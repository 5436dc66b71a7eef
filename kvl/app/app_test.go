package app

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
)

// mapStore is a store that is a map.
type mapStore map[string]string

func (m mapStore) put(key, value []byte) error {
	if _, ok := m[string(key)]; ok {
		return fmt.Errorf("stored twice")
	}
	m[string(key)] = string(value)
	return nil
}

// Get implements Store.
func (m mapStore) Get(_ context.Context, keys *Keys, f func(int, []byte) error) error {
	for i := range keys.Len() {
		var value []byte
		if v, ok := m[string(keys.At(i))]; ok {
			value = []byte(v)
		}
		if err := f(i, value); err != nil {
			return err
		}
	}
	return nil
}

// reach is what a search must find, by the generator alone.
func (g *Graph) reach(root int) Reach {
	seen := map[uint32]bool{uint32(root): true}
	r := Reach{Depth: -1}
	for now := []uint32{uint32(root)}; len(now) != 0; r.Depth++ {
		var next []uint32
		for _, u := range now {
			r.Users++
			for _, v := range g.Followers(int(u), nil) {
				r.Edges++
				if !seen[v] {
					seen[v] = true
					next = append(next, v)
				}
			}
		}
		now = next
	}
	return r
}

func TestGraphHasThatManyEdges(t *testing.T) {
	g := Graph{Nodes: 50_000, Edges: 22 * 50_000, Seed: 3}
	edges, most := 0, 0
	for i := range g.Nodes {
		n := len(g.Followers(i, nil))
		edges, most = edges+n, max(most, n)
	}
	if math.Abs(float64(edges)/float64(g.Edges)-1) > 0.05 || most < 10*22 || most > famous*22 {
		t.Errorf("%d edges, the most of a user are %d", edges, most)
	}
	if a, b := fmt.Sprint(g.Followers(7, nil)), fmt.Sprint(g.Followers(7, nil)); a != b {
		t.Errorf("%s, then %s", a, b)
	}
}

func TestSearchByKeys(t *testing.T) {
	g := Graph{Nodes: 3000, Edges: 40_000, Seed: 5}
	m := mapStore{}
	if _, err := g.Values(m.put); err != nil {
		t.Fatal(err)
	}
	for _, root := range []int{0, 17, 2999} {
		got, err := g.SearchByKeys(context.Background(), m, root, 0)
		if want := g.reach(root); err != nil || got != want {
			t.Errorf("from %d: %+v, %v; want %+v", root, got, err, want)
		}
	}
	if got, err := g.SearchByKeys(context.Background(), m, 17, 1000); err != nil || got.Users != 1000 {
		t.Errorf("%+v, %v; want 1000 users", got, err)
	}
	delete(m, string(UserKey(nil, 17)))
	if _, err := g.SearchByKeys(context.Background(), m, 17, 0); err == nil || !strings.Contains(err.Error(), string(UserKey(nil, 17))) {
		t.Errorf("%v", err)
	}
}

// page is what a page must be, by the generator alone.
func (s *Shop) page(product int) string {
	var b bytes.Buffer
	beginPage(&b, text(nil, 1, uint64(product), 30), text(nil, 2, uint64(product), descriptionLen))
	for i := range s.Reviews {
		if r := s.Review(i); r.Product == product {
			rt := newReviewText(fmt.Append(nil, r.Stars), text(nil, 3, uint64(i), reviewLen))
			rt.write(&b, userName(nil, r.User))
		}
	}
	endPage(&b)
	return b.String()
}

func TestPageByKeys(t *testing.T) {
	s := Shop{Products: 40, Reviews: 2000, Users: 300, Seed: 2}
	m := mapStore{}
	n, err := s.Values(m.put)
	if err != nil || n < s.Products+s.Reviews+s.Users {
		t.Fatal(n, err)
	}
	for product := range s.Products {
		var b bytes.Buffer
		if err := s.PageByKeys(context.Background(), m, product, &b); err != nil || b.String() != s.page(product) {
			t.Fatalf("product %d: %v, %.200q, want %.200q", product, err, b.String(), s.page(product))
		}
	}
}

// match is where a signal belongs, by the generator alone.
func (c *City) match(p Point) Match {
	near := nearest{best: -1, distance: math.Inf(1)}
	for _, n := range c.segmentsNear(c.CellOf(p), nil) {
		row, col, toRow, toCol, _ := c.Segment(n)
		near.look(n, p, c.Node(row, col), c.Node(toRow, toCol))
	}
	return Match{Street: fmt.Sprint("street number ", c.street(near.best)), Distance: math.Sqrt(near.distance)}
}

func TestMatchByKeys(t *testing.T) {
	c := City{Side: 50, Seed: 4}
	m := mapStore{}
	n, err := c.Values(m.put)
	for key := range m {
		if strings.Contains(key, "#") { // of a list that goes on
			n--
		}
	}
	if err != nil || n != c.Items() {
		t.Fatalf("%d items, want %d: %v", n, c.Items(), err)
	}
	for i := range 500 {
		p := c.Signal(i)
		got, err := c.MatchByKeys(context.Background(), m, p)
		if want := c.match(p); err != nil || got != want {
			t.Errorf("%+v: %+v, %v; want %+v", p, got, err, want)
		}
		if got.Distance > 30 {
			t.Errorf("signal %d at %+v is %g from %s", i, p, got.Distance, got.Street)
		}
	}
	if n := (&City{Side: PaperCity().Side}).Items(); n < 5_900_000 || n > 6_100_000 {
		t.Errorf("the map of the paper has %d items", n)
	}
}

package app

import (
	"bytes"
	"context"
	"math"

	"github.com/remora-kv/remora/kvl"
	"github.com/remora-kv/remora/kvl/keli"
)

// SearchByLinks is SearchByKeys with links.
func (g *Graph) SearchByLinks(ctx context.Context, s *keli.Session, root, most int) (r Reach, err error) {
	var followers uint16
	w, err := s.Walk(ctx, g.walk(root, most, &followers), func(item kvl.Item, _ int) (bool, error) {
		list, _ := item.List(followers)
		r.Edges += list.Len()
		return true, nil
	})
	r.Users, r.Depth = w.Items, w.Depth
	return r, err
}

// SearchParallel is SearchByLinks by several workers.
func (g *Graph) SearchParallel(ctx context.Context, c *keli.Client, root, most, workers int) (r Reach, err error) {
	var followers uint16
	edges := make([]struct {
		n int
		_ [7]int // each is in a cache line of its own
	}, workers)
	visits := make([]keli.Visit, workers)
	for i := range visits {
		mine := &edges[i].n
		visits[i] = func(item kvl.Item, _ int) (bool, error) {
			list, _ := item.List(followers)
			*mine += list.Len()
			return true, nil
		}
	}
	w, err := c.WalkParallel(ctx, g.walk(root, most, &followers), visits...)
	for i := range edges {
		r.Edges += edges[i].n
	}
	r.Users, r.Depth = w.Items, w.Depth
	return r, err
}

// walk is the way of a search, which tells the number of the attribute.
func (g *Graph) walk(root, most int, followers *uint16) keli.WalkConfig {
	return keli.WalkConfig{
		Keys: [][]byte{UserKey(nil, root)}, Attrs: []string{attrNames[followersAttr]}, MaxItems: most,
		Schema: func(names *kvl.Schema) { *followers = namesOf(names)[followersAttr] },
	}
}

// PageByLinks is PageByKeys with links.
func (s *Shop) PageByLinks(ctx context.Context, in *keli.Session, product int, page *bytes.Buffer) error {
	item, err := in.Lookup(ctx, ProductKey(nil, product))
	if err != nil {
		return err
	}
	n := namesOf(in.Schema())
	name, _ := item.Bytes(n[nameAttr])
	description, _ := item.Bytes(n[textAttr])
	beginPage(page, name, description)
	reviews, _ := item.List(n[reviewsAttr])
	texts, buyers := make([]reviewText, 0, roomFor(reviews)), make([]kvl.Link, 0, roomFor(reviews))
	err = in.FollowList(ctx, reviews, func(review kvl.Item) error {
		stars, _ := review.Bytes(n[starsAttr])
		text, _ := review.Bytes(n[textAttr])
		texts = append(texts, newReviewText(stars, text))
		buyer, _ := review.Link(n[buyerAttr])
		buyers = append(buyers, buyer)
		return nil
	})
	if err != nil {
		return err
	}
	err = in.FollowAll(ctx, buyers, func(i int, buyer kvl.Item) error {
		name, _ := buyer.Bytes(n[nameAttr])
		texts[i].write(page, name)
		return nil
	})
	endPage(page)
	return err
}

// roomFor is how many items of a list are made room for: how long it says that it is need not be true.
func roomFor(l kvl.List) int { return min(l.Len(), 1<<12) }

// MatchByLinks is MatchByKeys with links.
func (c *City) MatchByLinks(ctx context.Context, s *keli.Session, p Point) (Match, error) {
	cell, err := s.Lookup(ctx, CellKey(nil, c.CellOf(p)))
	if err != nil {
		return Match{}, err
	}
	n := namesOf(s.Schema())
	segments, _ := cell.List(n[segmentsAttr])
	ends, streets := make([]kvl.Link, 0, 2*roomFor(segments)), make([]kvl.Link, 0, roomFor(segments))
	err = s.FollowList(ctx, segments, func(segment kvl.Item) error {
		from, _ := segment.Link(n[fromAttr])
		to, _ := segment.Link(n[toAttr])
		street, _ := segment.Link(n[streetAttr])
		ends, streets = append(ends, from, to), append(streets, street)
		return nil
	})
	if err != nil {
		return Match{}, err
	}
	var from Point
	near := nearest{best: -1, distance: math.Inf(1)}
	err = s.FollowAll(ctx, ends, func(i int, node kvl.Item) error {
		place, _ := node.Bytes(n[placeAttr])
		if at := pointOf(place); i%2 == 0 {
			from = at
		} else {
			near.look(i/2, p, from, at)
		}
		return nil
	})
	if err != nil || near.best < 0 {
		return Match{}, err
	}
	street, err := s.Follow(ctx, streets[near.best])
	if err != nil {
		return Match{}, err
	}
	name, _ := street.Bytes(n[nameAttr])
	return Match{Street: string(name), Distance: math.Sqrt(near.distance)}, nil
}

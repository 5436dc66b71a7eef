package app

import (
	"bytes"
	"context"
	"math"
	"strconv"
)

// Reach is what a search has found.
type Reach struct {
	Users int // that were reached, with the first one
	Edges int // that were looked at
	Depth int // of the farthest
}

// SearchByKeys looks for all users who can be reached from one, by their followers, level
// by level.
func (g *Graph) SearchByKeys(ctx context.Context, s Store, root int) (Reach, error) {
	seen := make([]bool, g.Nodes)
	seen[root] = true
	var now, next, rest Keys
	next.Add(UserKey(nil, root))
	r := Reach{Users: 1}
	visit := func(list []byte) {
		eachKey(list, func(key []byte) {
			r.Edges++
			if n, err := strconv.ParseUint(string(key[1:]), 36, 32); err == nil && int(n) < g.Nodes && !seen[n] {
				seen[n] = true
				r.Users++
				next.Add(key)
			}
		})
	}
	for r.Depth = -1; next.Len() != 0; r.Depth++ {
		now, next = next, now
		next.Reset()
		rest.Reset()
		err := need(ctx, s, &now, func(_ int, v value) error {
			visit(v.get(followersAttr))
			if more := v.get(nextAttr); more != nil {
				rest.Add(more)
			}
			return nil
		})
		for ; err == nil && rest.Len() != 0; rest, now = now, rest {
			now.Reset()
			err = need(ctx, s, &rest, func(_ int, v value) error {
				visit(v.get(restAttr))
				if more := v.get(nextAttr); more != nil {
					now.Add(more)
				}
				return nil
			})
		}
		if err != nil {
			return r, err
		}
	}
	return r, nil
}

// PageByKeys writes the page of a product with all its reviews.
func (s *Shop) PageByKeys(ctx context.Context, store Store, product int, page *bytes.Buffer) error {
	var reviews, buyers Keys
	item, err := copyOne(ctx, store, ProductKey(nil, product))
	if err != nil {
		return err
	}
	beginPage(page, item.get(nameAttr), item.get(textAttr))
	if err := addKeys(ctx, store, item, reviewsAttr, &reviews); err != nil {
		return err
	}
	texts := make([]reviewText, 0, reviews.Len())
	err = need(ctx, store, &reviews, func(_ int, v value) error {
		texts = append(texts, newReviewText(v.get(starsAttr), v.get(textAttr)))
		buyers.Add(v.get(buyerAttr))
		return nil
	})
	if err != nil {
		return err
	}
	err = need(ctx, store, &buyers, func(i int, v value) error {
		texts[i].write(page, v.get(nameAttr))
		return nil
	})
	endPage(page)
	return err
}

// Match is where a signal belongs.
type Match struct {
	Street   string
	Distance float64 // in micro-degrees
}

// MatchByKeys finds the street that is nearest to a place, among the segments of its cell.
func (c *City) MatchByKeys(ctx context.Context, store Store, p Point) (Match, error) {
	var segments, ends, streets Keys
	cell, err := copyOne(ctx, store, CellKey(nil, c.CellOf(p)))
	if err != nil {
		return Match{}, err
	}
	if err := addKeys(ctx, store, cell, segmentsAttr, &segments); err != nil {
		return Match{}, err
	}
	err = need(ctx, store, &segments, func(_ int, v value) error {
		ends.Add(v.get(fromAttr))
		ends.Add(v.get(toAttr))
		streets.Add(v.get(streetAttr))
		return nil
	})
	if err != nil {
		return Match{}, err
	}
	var from Point
	near := nearest{best: -1, distance: math.Inf(1)}
	err = need(ctx, store, &ends, func(i int, v value) error {
		if at := pointOf(v.get(placeAttr)); i%2 == 0 {
			from = at
		} else {
			near.look(i/2, p, from, at)
		}
		return nil
	})
	if err != nil || near.best < 0 {
		return Match{}, err
	}
	street, err := copyOne(ctx, store, streets.At(near.best))
	return Match{Street: string(street.get(nameAttr)), Distance: math.Sqrt(near.distance)}, err
}

// nearest is the nearest of the segments that were looked at. Of two as near it is the
// first.
type nearest struct {
	best     int
	distance float64 // its square
}

func (n *nearest) look(i int, p, from, to Point) {
	if d := distance(p, from, to); d < n.distance {
		n.best, n.distance = i, d
	}
}

package app

import (
	"bytes"
	"context"
	"math"
)

// Reach is what a search has found.
type Reach struct {
	Users int // that were visited, with the first one
	Edges int // that were looked at
	Depth int // of the farthest
}

// SearchByKeys looks for all users who can be reached from one, by their followers, level
// by level. If most is not 0, it ends when most users were visited.
func (g *Graph) SearchByKeys(ctx context.Context, s Store, root, most int) (Reach, error) {
	k := keySearch{store: s, seen: make([]bool, g.Nodes), reach: Reach{Depth: -1}}
	k.found(UserKey(nil, root))
	for k.next.Len() != 0 && (most == 0 || k.reach.Users < most) {
		k.reach.Depth++
		if err := k.level(ctx, most); err != nil {
			return k.reach, err
		}
	}
	return k.reach, nil
}

// keySearch is a search by keys.
type keySearch struct {
	store     Store
	seen      []bool // users, by number
	now, next Keys   // users of this level, and of the one behind it
	rest      Keys   // values that go on with lists of this one
	more      Keys   // and the ones behind those
	reach     Reach
}

// level visits the users of a level.
func (k *keySearch) level(ctx context.Context, most int) error {
	k.now, k.next = k.next, k.now
	k.next.Reset()
	k.rest.Reset()
	if most != 0 {
		k.now.cut(most - k.reach.Users)
	}
	err := need(ctx, k.store, &k.now, func(_ int, v value) error {
		k.reach.Users++
		k.list(v, followersAttr, &k.rest)
		return nil
	})
	for err == nil && k.rest.Len() != 0 {
		k.more.Reset()
		err = need(ctx, k.store, &k.rest, func(_ int, v value) error {
			k.list(v, restAttr, &k.more)
			return nil
		})
		k.rest, k.more = k.more, k.rest
	}
	return err
}

// list takes the keys of a list, and where it goes on.
func (k *keySearch) list(v value, a attr, rest *Keys) {
	eachKey(v.get(a), func(key []byte) {
		k.reach.Edges++
		k.found(key)
	})
	if more := v.get(nextAttr); more != nil {
		rest.Add(more)
	}
}

// found has a user visited, if that was not done yet.
func (k *keySearch) found(key []byte) {
	n := userOf(key)
	if n < len(k.seen) && !k.seen[n] {
		k.seen[n] = true
		k.next.Add(key)
	}
}

// userOf returns the number of a user, by the key.
func userOf(key []byte) int {
	n := 0
	for _, c := range key[1:] {
		if c -= '0'; c > 9 {
			c -= 'a' - '0' - 10
		}
		n = n*36 + int(c)
	}
	return n
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

package app

import (
	"encoding/binary"
	"slices"
	"strconv"
)

// fill gives all users to a sink.
func (g *Graph) fill(s sink) error {
	var key, name []byte
	var ids []uint32
	for i := range g.Nodes {
		key, name = UserKey(key[:0], i), userName(name[:0], i)
		s.begin(userKind, key)
		s.bytes(nameAttr, name)
		s.list(followersAttr)
		ids = g.Followers(i, ids[:0])
		for _, id := range ids {
			key = UserKey(key[:0], int(id))
			s.add(key)
		}
		if err := s.end(); err != nil {
			return err
		}
	}
	return nil
}

// How long texts are.
const (
	descriptionLen = 400
	reviewLen      = 250
)

// fill gives products, reviews and users to a sink.
func (s *Shop) fill(to sink) error {
	for _, part := range []func(sink) error{s.fillProducts, s.fillReviews, s.fillBuyers} {
		if err := part(to); err != nil {
			return err
		}
	}
	return nil
}

func (s *Shop) fillProducts(to sink) error {
	of := s.reviewsOf()
	var b []byte
	for i := range s.Products {
		to.begin(productKind, ProductKey(b[:0], i))
		b = text(b[:0], 1, uint64(i), 30)
		to.bytes(nameAttr, b)
		b = text(b[:0], 2, uint64(i), descriptionLen)
		to.bytes(textAttr, b)
		to.list(reviewsAttr)
		for _, r := range of[i] {
			b = ReviewKey(b[:0], int(r))
			to.add(b)
		}
		if err := to.end(); err != nil {
			return err
		}
	}
	return nil
}

// reviewsOf returns the reviews of each product.
func (s *Shop) reviewsOf() [][]int32 {
	of := make([][]int32, s.Products)
	for i := range s.Reviews {
		p := s.Review(i).Product
		of[p] = append(of[p], int32(i))
	}
	return of
}

func (s *Shop) fillReviews(to sink) error {
	var b []byte
	for i := range s.Reviews {
		r := s.Review(i)
		b = ReviewKey(b[:0], i)
		to.begin(reviewKind, b)
		b = text(b[:0], 3, uint64(i), reviewLen)
		to.bytes(textAttr, b)
		b = strconv.AppendInt(b[:0], int64(r.Stars), 10)
		to.bytes(starsAttr, b)
		b = ProductKey(b[:0], r.Product)
		to.link(productAttr, b)
		b = BuyerKey(b[:0], r.User)
		to.link(buyerAttr, b)
		if err := to.end(); err != nil {
			return err
		}
	}
	return nil
}

func (s *Shop) fillBuyers(to sink) error {
	var b []byte
	for i := range s.Users {
		b = BuyerKey(b[:0], i)
		to.begin(buyerKind, b)
		b = userName(b[:0], i)
		to.bytes(nameAttr, b)
		if err := to.end(); err != nil {
			return err
		}
	}
	return nil
}

// fill gives all items of the map to a sink.
func (c *City) fill(to sink) error {
	for _, part := range []func(sink) error{c.fillNodes, c.fillSegments, c.fillStreets, c.fillCells} {
		if err := part(to); err != nil {
			return err
		}
	}
	return nil
}

func (c *City) fillNodes(to sink) error {
	var b []byte
	for n := range c.Side * c.Side {
		b = NodeKey(b[:0], n)
		to.begin(nodeKind, b)
		b = c.Node(n/c.Side, n%c.Side).append(b[:0])
		to.bytes(placeAttr, b)
		if err := to.end(); err != nil {
			return err
		}
	}
	return nil
}

// append appends the bytes of a place, which pointOf reads.
func (p Point) append(b []byte) []byte {
	return binary.LittleEndian.AppendUint64(b, uint64(uint32(p.Lat))|uint64(uint32(p.Lon))<<32)
}

// PlaceName is the name of the attribute that has the place of a crossing; PlaceOf returns it
// from the value of one.
const PlaceName = "place"

// PlaceOf returns the bytes of the place in the value of a crossing, nil if there are none.
func PlaceOf(v []byte) []byte { return value(v).get(placeAttr) }

func pointOf(b []byte) Point {
	if len(b) != 8 {
		return Point{}
	}
	w := binary.LittleEndian.Uint64(b)
	return Point{Lat: int32(uint32(w)), Lon: int32(uint32(w >> 32))}
}

func (c *City) fillSegments(to sink) error {
	var b []byte
	for n := range 2 * c.Side * c.Side {
		row, col, toRow, toCol, ok := c.Segment(n)
		if !ok {
			continue
		}
		b = SegmentKey(b[:0], n)
		to.begin(segmentKind, b)
		b = NodeKey(b[:0], c.node(row, col))
		to.link(fromAttr, b)
		b = NodeKey(b[:0], c.node(toRow, toCol))
		to.link(toAttr, b)
		b = StreetKey(b[:0], c.street(n))
		to.link(streetAttr, b)
		b = CellKey(b[:0], c.cellOfNode(row, col))
		to.link(cellAttr, b)
		if err := to.end(); err != nil {
			return err
		}
	}
	return nil
}

func (c *City) cellOfNode(row, col int) int { return row/CellSide*c.cells() + col/CellSide }

func (c *City) fillStreets(to sink) error {
	for line := range 2 * c.Side {
		for part := range c.streetsOfRow() {
			if err := c.fillStreet(to, line, part); err != nil {
				return err
			}
		}
	}
	return nil
}

// fillStreet gives a part of a line: those along rows come first, then those down columns.
func (c *City) fillStreet(to sink, line, part int) error {
	number := line*c.streetsOfRow() + part
	b := StreetKey(nil, number)
	to.begin(streetKind, b)
	b = strconv.AppendInt(append(b[:0], "street number "...), int64(number), 10)
	to.bytes(nameAttr, b)
	to.list(segmentsAttr)
	for at := part * StreetLen; at < min((part+1)*StreetLen, c.Side); at++ {
		n := c.segment(line, at, false)
		if line >= c.Side {
			n = c.segment(at, line-c.Side, true)
		}
		if _, _, _, _, ok := c.Segment(n); ok {
			b = SegmentKey(b[:0], n)
			to.add(b)
		}
	}
	return to.end()
}

func (c *City) fillCells(to sink) error {
	var b []byte
	var found []int
	for i := range c.cells() * c.cells() {
		b = CellKey(b[:0], i)
		to.begin(cellKind, b)
		to.list(segmentsAttr)
		found = c.segmentsNear(i, found[:0])
		for _, n := range found {
			b = SegmentKey(b[:0], n)
			to.add(b)
		}
		if err := to.end(); err != nil {
			return err
		}
	}
	return nil
}

// segmentsNear appends the segments that begin or end in a cell: a user in the cell is
// nearest to one of them, or to one that only passes by.
func (c *City) segmentsNear(cell int, found []int) []int {
	top, left := cell/c.cells()*CellSide, cell%c.cells()*CellSide
	for row := max(top-1, 0); row < min(top+CellSide, c.Side); row++ {
		for col := max(left-1, 0); col < min(left+CellSide, c.Side); col++ {
			for _, down := range []bool{false, true} {
				n := c.segment(row, col, down)
				if _, _, toRow, toCol, ok := c.Segment(n); ok && toRow >= top && toCol >= left {
					found = append(found, n)
				}
			}
		}
	}
	slices.Sort(found)
	return found
}

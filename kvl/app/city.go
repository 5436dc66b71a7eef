package app

import (
	"math/rand/v2"
	"strconv"
)

// City is a map: crossings on a bent grid, segments between neighbours, streets of up to
// StreetLen segments in a row, and cells of CellSide by CellSide crossings with the
// segments that begin there.
type City struct {
	Side int // crossings in a row, and rows
	Seed uint64
}

// PaperCity has about 6 M items, as the map of the paper.
func PaperCity() City { return City{Side: 1377, Seed: 1} }

const (
	// StreetLen is how many segments a street has.
	StreetLen = 20
	// CellSide is how many crossings wide a cell is.
	CellSide = 4
	// grid is the distance of crossings in micro-degrees, and bend by how much one may be
	// elsewhere.
	grid = 1000
	bend = 300
)

// Point is a place in micro-degrees.
type Point struct{ Lat, Lon int32 }

// Node returns where crossing (row, col) is.
func (c *City) Node(row, col int) Point {
	rng := rand.New(rand.NewPCG(c.Seed, uint64(c.node(row, col))))
	return Point{
		Lat: int32(row*grid + rng.IntN(2*bend+1) - bend),
		Lon: int32(col*grid + rng.IntN(2*bend+1) - bend),
	}
}

func (c *City) node(row, col int) int { return row*c.Side + col }

// A segment has the number of the crossing where it begins, and one bit for its direction:
// along a row, or down a column.
func (c *City) segment(row, col int, down bool) int {
	n := 2 * c.node(row, col)
	if down {
		n++
	}
	return n
}

// Segment says where a segment begins and ends; false if there is none with that number.
func (c *City) Segment(n int) (row, col, toRow, toCol int, ok bool) {
	row, col = n/2/c.Side, n/2%c.Side
	toRow, toCol = row, col+1
	if n%2 == 1 {
		toRow, toCol = row+1, col
	}
	return row, col, toRow, toCol, n >= 0 && row < c.Side && toRow < c.Side && toCol < c.Side
}

// street returns the number of the street that a segment belongs to: those along rows come
// first.
func (c *City) street(n int) int {
	row, col, _, _, _ := c.Segment(n)
	if n%2 == 0 {
		return row*c.streetsOfRow() + col/StreetLen
	}
	return (c.Side+col)*c.streetsOfRow() + row/StreetLen
}

func (c *City) streetsOfRow() int { return (c.Side + StreetLen - 1) / StreetLen }

// cells is how many cells are in a row.
func (c *City) cells() int { return (c.Side + CellSide - 1) / CellSide }

// CellOf returns the number of the cell that a place lies in.
func (c *City) CellOf(p Point) int {
	at := func(x int32) int { return min(max(int(x)+grid/2, 0)/grid/CellSide, c.cells()-1) }
	return at(p.Lat)*c.cells() + at(p.Lon)
}

// Items is how many items the map has.
func (c *City) Items() int {
	n := c.Side * c.Side
	return n + 2*(n-c.Side) + 2*c.Side*c.streetsOfRow() + c.cells()*c.cells()
}

// Signal returns GPS signal i: a place near some segment.
func (c *City) Signal(i int) Point {
	rng := rand.New(rand.NewPCG(c.Seed+1, uint64(i)))
	for {
		row, col, toRow, toCol, ok := c.Segment(rng.IntN(2 * c.Side * c.Side))
		if !ok {
			continue
		}
		a, b, t := c.Node(row, col), c.Node(toRow, toCol), rng.Float64()
		return Point{
			Lat: a.Lat + int32(t*float64(b.Lat-a.Lat)) + int32(rng.IntN(41)) - 20,
			Lon: a.Lon + int32(t*float64(b.Lon-a.Lon)) + int32(rng.IntN(41)) - 20,
		}
	}
}

// distance is the square of how far p is from the segment from a to b.
func distance(p, a, b Point) float64 {
	abLat, abLon := float64(b.Lat-a.Lat), float64(b.Lon-a.Lon)
	apLat, apLon := float64(p.Lat-a.Lat), float64(p.Lon-a.Lon)
	t := min(max((apLat*abLat+apLon*abLon)/max(abLat*abLat+abLon*abLon, 1), 0), 1)
	dLat, dLon := apLat-t*abLat, apLon-t*abLon
	return dLat*dLat + dLon*dLon
}

// CellKey appends the key of cell i, NodeKey, SegmentKey and StreetKey those of the others.
func CellKey(b []byte, i int) []byte { return strconv.AppendInt(append(b, "cell/"...), int64(i), 36) }

// NodeKey appends the key of a crossing.
func NodeKey(b []byte, i int) []byte { return strconv.AppendInt(append(b, "n/"...), int64(i), 36) }

// SegmentKey appends the key of a segment.
func SegmentKey(b []byte, i int) []byte { return strconv.AppendInt(append(b, "s/"...), int64(i), 36) }

// StreetKey appends the key of a street.
func StreetKey(b []byte, i int) []byte { return strconv.AppendInt(append(b, "st/"...), int64(i), 36) }

package app

import (
	"math"
	"math/rand/v2"
	"strconv"
)

// Graph is a network of users and their followers.
type Graph struct {
	// Nodes is how many users there are, Edges how many followers they have, in all and
	// about.
	Nodes, Edges int
	Seed         uint64
}

// PaperGraph is as large as the one of the paper.
func PaperGraph() Graph { return Graph{Nodes: 1_000_000, Edges: 22_000_000, Seed: 1} }

const (
	// skew is the exponent of the numbers of followers, as social networks have it, and
	// famous bounds them, in means.
	skew   = 1.8
	famous = 2000
)

// Followers appends the users who follow user i to ids, and returns them. It is the same
// for each call.
func (g *Graph) Followers(i int, ids []uint32) []uint32 {
	rng := rand.New(rand.NewPCG(g.Seed, uint64(i)))
	for range g.degree(rng) {
		ids = append(ids, uint32(rng.IntN(g.Nodes)))
	}
	return ids
}

// degree draws a number of followers: Pareto's distribution, cut off, with the mean that
// is asked for.
func (g *Graph) degree(rng *rand.Rand) int {
	mean := float64(g.Edges) / float64(g.Nodes)
	// The mean of x = s*u^(-1/skew), u uniform in (c, 1] where x would be above the bound,
	// is s*(1-c^(1-1/skew))/(1-1/skew) / (1-c).
	const inverse = 1 / skew
	c := math.Pow(famous, -skew)
	s := mean * (1 - inverse) * (1 - c) / (1 - math.Pow(c, 1-inverse))
	x := s * math.Pow(c+(1-c)*rng.Float64(), -inverse)
	n := int(x)
	if rng.Float64() < x-float64(n) { // so that the mean is kept
		n++
	}
	return n
}

// UserKey appends the key of user i.
func UserKey(b []byte, i int) []byte { return strconv.AppendInt(append(b, 'u'), int64(i), 36) }

// userName appends a name, which is what makes items unlike each other.
func userName(b []byte, i int) []byte {
	b = append(b, "user number "...)
	return strconv.AppendInt(b, int64(i), 10)
}

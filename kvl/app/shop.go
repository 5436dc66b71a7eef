package app

import (
	"math/rand/v2"
	"strconv"
)

// Shop is products, reviews of them, and the users who wrote those.
type Shop struct {
	Products, Reviews, Users int
	Seed                     uint64
}

// PaperShop is as large as the one of the paper.
func PaperShop() Shop { return Shop{Products: 12_000, Reviews: 200_000, Users: 60_000, Seed: 1} }

// Review is what somebody thinks of a product.
type Review struct {
	Product, User, Stars int
}

// Review returns review i. Few products have many reviews.
func (s *Shop) Review(i int) Review {
	rng := rand.New(rand.NewPCG(s.Seed, uint64(i)))
	u := rng.Float64()
	return Review{
		Product: int(u * u * float64(s.Products)), User: rng.IntN(s.Users), Stars: 1 + rng.IntN(5),
	}
}

// text appends n bytes that look like words and depend on two numbers.
func text(b []byte, what, i uint64, n int) []byte {
	rng := rand.New(rand.NewPCG(what, i))
	for end := len(b) + n; len(b) < end; {
		b = append(b, words[rng.IntN(len(words))]...)
		b = append(b, ' ')
		b = b[:min(len(b), end)]
	}
	return b
}

var words = []string{"good", "the", "of", "quality", "bought", "again", "never", "colour", "delivery", "works", "as", "said"}

// ProductKey appends the key of product i, ReviewKey and BuyerKey those of a review and of
// who writes such.
func ProductKey(b []byte, i int) []byte { return strconv.AppendInt(append(b, "p/"...), int64(i), 36) }

// ReviewKey appends the key of review i.
func ReviewKey(b []byte, i int) []byte { return strconv.AppendInt(append(b, "r/"...), int64(i), 36) }

// BuyerKey appends the key of user i.
func BuyerKey(b []byte, i int) []byte { return strconv.AppendInt(append(b, "b/"...), int64(i), 36) }

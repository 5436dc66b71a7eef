package load

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Sizes is how long keys or values are. The size of one is a function of its index alone
// (W3), computed from a law and without a table (W1): the index is hashed to a number
// between 0 and 1, of which the law's quantile is taken, up to the next whole byte. Size s
// so has the probability F(s) - F(s-1), in proportion: what lies outside of the range is
// left out.
type Sizes struct {
	law         law
	least, most int
	low, mass   float64 // F at the lower end of the range, and how much of it lies within
	salt        uint64  // long keys are not those of long values
}

// law is a distribution of sizes.
type law interface {
	// below is F: the share of sizes up to x.
	below(x float64) float64
	// quantile is the inverse of it.
	quantile(u float64) float64
}

const (
	keySalt   = 0x9FB21C651E98DF25
	valueSalt = 0xC2B2AE3D27D4EB4F
)

// SizeNames are the distributions that ParseKeySizes and ParseValueSizes know.
const SizeNames = "a number, uniform:1-899, etc, or of values weibo"

// ParseKeySizes reads sizes of keys: a number, uniform:FROM-TO, or etc.
func ParseKeySizes(text string) (Sizes, error) {
	if text == "etc" {
		return newSizes(etcKeys, etcLeastKey, etcMostKey, keySalt), nil
	}
	return parseSizes(text, keySalt)
}

// ParseValueSizes reads sizes of values: a number, uniform:FROM-TO, etc or weibo.
func ParseValueSizes(text string) (Sizes, error) {
	switch text {
	case "etc":
		return newSizes(etcValues, 1, etcMostValue, valueSalt), nil
	case "weibo":
		return newSizes(weiboValues, 1, weiboMost, valueSalt), nil
	}
	return parseSizes(text, valueSalt)
}

// parseSizes reads what keys and values share.
func parseSizes(text string, salt uint64) (Sizes, error) {
	if n, err := strconv.ParseUint(text, 10, 31); err == nil && n > 0 {
		return FixedSizes(int(n)), nil
	}
	if span, ok := strings.CutPrefix(text, "uniform:"); ok {
		from, to, _ := strings.Cut(span, "-")
		least, errLeast := strconv.ParseUint(from, 10, 31)
		most, errMost := strconv.ParseUint(to, 10, 31)
		if errLeast == nil && errMost == nil && least >= 1 && most >= least {
			return newSizes(flat{float64(least) - 1, float64(most)}, int(least), int(most), salt), nil
		}
	}
	return Sizes{}, fmt.Errorf("%q is not a distribution of sizes: use %s", text, SizeNames)
}

// FixedSizes are all the same.
func FixedSizes(size int) Sizes { return Sizes{least: size, most: size} }

func newSizes(l law, least, most int, salt uint64) Sizes {
	low := l.below(float64(least - 1))
	return Sizes{law: l, least: least, most: most, low: low, mass: l.below(float64(most)) - low, salt: salt}
}

// Least and Most are the ends of the range.
func (s *Sizes) Least() int { return s.least }

// Most is the other one.
func (s *Sizes) Most() int { return s.most }

// varies reports whether there is more than one.
func (s *Sizes) varies() bool { return s.law != nil }

// At returns the size of a key, or of its value.
func (s *Sizes) At(index uint64) int {
	if s.law == nil {
		return s.least
	}
	return s.Quantile(float64(mix(index*golden+s.salt)>>11) * (1.0 / (1 << 53)))
}

// Quantile returns the size below which, or at which, the share u of all are.
func (s *Sizes) Quantile(u float64) int {
	if s.law == nil {
		return s.least
	}
	size := int(math.Ceil(s.law.quantile(s.low + u*s.mass)))
	return min(max(size, s.least), s.most)
}

// Mean is that of the distribution.
func (s *Sizes) Mean() float64 {
	if s.law == nil {
		return float64(s.least)
	}
	mean := float64(s.least)
	for size := s.least; size < s.most; size++ {
		mean += 1 - (s.law.below(float64(size))-s.low)/s.mass
	}
	return mean
}

package cachetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
)

// Source makes the operations of one client in a history: on few keys, so that
// clients meet, with unique values (H1).
type Source struct {
	// Words makes all values words, on which Incr fails.
	Words bool

	rng    *rand.Rand
	client int
	keys   []string
	n      int64
	known  map[string]uint64 // versions that the client has seen last, by key
}

// NewSource makes the operations of a client from a seed. Clients of one history
// have different numbers.
func NewSource(seed uint64, client int, keys []string) *Source {
	return &Source{
		rng: rand.New(rand.NewPCG(seed, uint64(client))), client: client, keys: keys, known: map[string]uint64{},
	}
}

// Keys returns n keys.
func Keys(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprint("key ", i)
	}
	return keys
}

// spread is how far the values of two writes are apart, so that sums tell where
// they began.
const spread = 1000

// value is a new one: mostly a number, so that Incr works on it.
func (s *Source) value() string {
	s.n++
	n := strconv.FormatInt((int64(s.client)*1_000_000+s.n)*spread, 10)
	if s.rng.IntN(16) == 0 || s.Words {
		return "no number " + n
	}
	return n
}

// Next returns the next operation.
func (s *Source) Next() Call {
	key := s.keys[s.rng.IntN(len(s.keys))]
	c := Call{Key: key}
	switch n := s.rng.IntN(100); {
	case n < 30:
		c.Kind = Get
	case n < 45:
		c.Kind = Set
	case n < 52:
		c.Kind = Add
	case n < 59:
		c.Kind = Replace
	case n < 74:
		c.Kind, c.Version = CAS, s.known[key]
	case n < 79:
		c.Kind = Delete
	case n < 83:
		c.Kind, c.Version = DeleteVersion, s.known[key]
	case n < 95:
		c.Kind, c.Delta = Incr, 1+s.rng.Int64N(3)
	default:
		c.Kind = Touch
	}
	switch c.Kind {
	case Set, Add, Replace, CAS:
		c.Value = s.value()
	default:
	}
	if (c.Kind == CAS || c.Kind == DeleteVersion) && c.Version == 0 {
		return Call{Kind: Get, Key: key} // to know one
	}
	return c
}

// Learn tells the source how an operation ended.
func (s *Source) Learn(c *Call, o *Outcome) {
	if o.Status == OK && o.Version != 0 {
		s.known[c.Key] = o.Version
	}
}

// Work does operations one after the other until n are done or ctx is over.
func Work(ctx context.Context, cache Cache, j Journal, s *Source, n int) {
	for i := 0; i < n && ctx.Err() == nil; i++ {
		c := s.Next()
		number := j.Begin(s.client, &c)
		o := cache.Do(ctx, &c)
		j.End(number, &o)
		s.Learn(&c, &o)
	}
}

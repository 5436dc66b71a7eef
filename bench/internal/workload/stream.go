package workload

import "math"

// Mix says which operations there are.
type Mix struct {
	Keys   uint64  // how many
	GetPct float64 // percentage of gets
	Theta  float64 // of Zipf; 0 is uniform
	Seed   uint64
}

// Stream makes the operations of one worker.
type Stream struct {
	keys     uint64
	gets     uint64 // of 2^32
	zipf     *Zipf  // nil: uniform
	scatter  Permutation
	random   Random
	next     uint64 // of all keys in turn
	allInRow bool
}

// Stream returns that of a worker (W2).
func (m *Mix) Stream(worker int) *Stream {
	s := &Stream{
		keys: m.Keys, gets: uint64(math.Round(m.GetPct / 100 * (1 << 32))),
		scatter: NewPermutation(m.Keys, m.Seed), random: NewRandom(m.Seed, worker),
	}
	if m.Theta != 0 {
		s.zipf = NewZipf(m.Keys, m.Theta)
	}
	return s
}

// All returns the operations that put every key once.
func (m *Mix) All() *Stream { return &Stream{keys: m.Keys, allInRow: true} }

// Next returns the next operation: the index of its key, whether it is a get, and
// a stamp for the value of a put.
func (s *Stream) Next() (index uint64, get bool, stamp uint64) {
	if s.allInRow {
		index = s.next
		if s.next++; s.next == s.keys {
			s.next = 0
		}
		return index, false, index
	}
	bits := s.random.Next()
	get = bits&math.MaxUint32 < s.gets
	if s.zipf != nil {
		return s.scatter.At(s.zipf.Draw(&s.random)), get, bits
	}
	return s.random.Below(s.keys), get, bits
}

package workload

import "math"

// Mix says which operations there are.
type Mix struct {
	Keys   uint64  // how many
	GetPct float64 // percentage of gets
	Theta  float64 // of Zipf; 0 is uniform
	// ScanPct is the percentage of operations that belong to a scan: each worker has
	// one, which goes over all keys in the order of their indexes, from a key of its own
	// on, again and again, and its operations come between the others at random.
	ScanPct float64
	Seed    uint64
}

// Stream makes the operations of one worker.
type Stream struct {
	keys     uint64
	gets     uint64 // of 2^32
	scans    uint64 // of 2^32
	zipf     *Zipf  // nil: uniform
	scatter  Permutation
	random   Random
	next     uint64 // of all keys in turn, or of the scan
	allInRow bool
}

// Stream returns that of a worker (W2).
func (m *Mix) Stream(worker int) *Stream {
	s := &Stream{
		keys: m.Keys, gets: share(m.GetPct), scans: share(m.ScanPct),
		scatter: NewPermutation(m.Keys, m.Seed), random: NewRandom(m.Seed, worker),
	}
	if m.Theta != 0 {
		s.zipf = NewZipf(m.Keys, m.Theta)
	}
	if s.scans != 0 {
		s.next = s.random.Below(m.Keys)
	}
	return s
}

// share is a percentage of 2^32.
func share(pct float64) uint64 { return uint64(math.Round(pct / 100 * (1 << 32))) }

// All returns the operations that put every key once.
func (m *Mix) All() *Stream { return &Stream{keys: m.Keys, allInRow: true} }

// Next returns the next operation: the index of its key, whether it is a get, and
// a stamp for the value of a put.
func (s *Stream) Next() (index uint64, get bool, stamp uint64) {
	if s.allInRow {
		index = s.inTurn()
		return index, false, index
	}
	bits := s.random.Next()
	get = bits&math.MaxUint32 < s.gets
	if bits>>32 < s.scans {
		return s.inTurn(), get, bits
	}
	if s.zipf != nil {
		return s.scatter.At(s.zipf.Draw(&s.random)), get, bits
	}
	return s.random.Below(s.keys), get, bits
}

// inTurn returns the index behind the one before.
func (s *Stream) inTurn() uint64 {
	index := s.next
	if s.next++; s.next == s.keys {
		s.next = 0
	}
	return index
}

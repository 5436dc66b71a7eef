package load

import "math"

// Mix says which operations there are.
type Mix struct {
	Keys   uint64  // how many; with Latest at the beginning
	GetPct float64 // percentage of gets
	// ModifyPct is the percentage of operations that are a get and a put of its key. What
	// is neither this nor a get is a put, with Latest of a new key.
	ModifyPct float64
	Theta     float64 // of Zipf; 0 is uniform
	// HotOpsPct is, when not 0, the percentage of operations that go to HotKeysPct of the
	// keys; Theta is 0 then.
	HotOpsPct, HotKeysPct float64
	// Latest makes the keys that were inserted last the popular ones, by Theta.
	Latest bool
	// ScanPct is the percentage of operations that belong to a scan: each worker has
	// one, which goes over all keys in the order of their indexes, from a key of its own
	// on, again and again, and its operations come between the others at random.
	ScanPct float64
	Seed    uint64
	// Workers is how many streams there are, and InFlight how many operations of each are
	// in flight at most: with Latest they must be known.
	Workers, InFlight int

	growth *growth // of Latest, shared by the streams
}

// popularity is which keys are drawn how often.
type popularity uint8

const (
	uniform popularity = iota
	zipfian
	hot
	latest
)

// Stream makes the operations of one worker.
type Stream struct {
	keys     uint64
	gets     uint64 // of 2^32
	modifies uint64 // of 2^32: gets and these
	scans    uint64 // of 2^32
	popular  popularity
	zipf     *Zipf
	hotspot  hotspot
	recency  *recency
	scatter  Permutation
	random   Random
	next     uint64 // of all keys in turn, or of the scan
	allInRow bool
}

// Stream returns that of a worker (W2). It must not be called from two goroutines at the
// same time.
func (m *Mix) Stream(worker int) *Stream {
	s := &Stream{
		keys: m.Keys, gets: share(m.GetPct), modifies: share(m.GetPct + m.ModifyPct), scans: share(m.ScanPct),
		scatter: NewPermutation(m.Keys, m.Seed), random: NewRandom(m.Seed, worker),
	}
	switch {
	case m.Latest:
		if m.growth == nil {
			m.growth = newGrowth(m.Keys, max(m.Workers, 1))
		}
		s.popular, s.recency = latest, newRecency(m.growth, m.Theta, worker, m.InFlight)
	case m.HotOpsPct != 0:
		s.popular, s.hotspot = hot, newHotspot(m.Keys, m.HotOpsPct, m.HotKeysPct)
	case m.Theta != 0:
		s.popular, s.zipf = zipfian, NewZipf(m.Keys, m.Theta)
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

// Next returns the next operation: the index of its key, what is done, and a stamp for
// the value of a put. When an Insert has ended Settle must be called; while one of them does
// not end, others become puts.
func (s *Stream) Next() (index uint64, op Op, stamp uint64) {
	if s.allInRow {
		index = s.inTurn()
		return index, Put, index
	}
	bits := s.random.Next()
	if op = Get; bits&math.MaxUint32 >= s.gets {
		op = s.other(bits)
	}
	if bits>>32 < s.scans {
		return s.inTurn(), op, bits
	}
	if s.popular == uniform {
		return s.random.Below(s.keys), op, bits
	}
	return s.draw(op), op, bits
}

// other returns which operation it is that is not a get.
func (s *Stream) other(bits uint64) Op {
	switch {
	case bits&math.MaxUint32 < s.modifies:
		return Modify
	case s.popular == latest && s.recency.room():
		return Insert
	}
	return Put
}

// draw returns the key of an operation where not all are as popular.
func (s *Stream) draw(op Op) uint64 {
	switch s.popular {
	case latest:
		if op == Insert {
			return s.recency.insert()
		}
		return s.recency.draw(&s.random)
	case hot:
		return s.scatter.At(s.hotspot.draw(&s.random))
	case zipfian, uniform:
	}
	return s.scatter.At(s.zipf.Draw(&s.random))
}

// Settle notes that the Insert of a key has ended, well or not: it may be drawn from now
// on.
func (s *Stream) Settle(index uint64) { s.recency.settle(index) }

// inTurn returns the index behind the one before.
func (s *Stream) inTurn() uint64 {
	index := s.next
	if s.next++; s.next == s.keys {
		s.next = 0
	}
	return index
}

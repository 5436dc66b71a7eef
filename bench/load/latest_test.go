package load

import (
	"math"
	"sync"
	"testing"
)

// The popularity of a key is that of its recency, while keys are inserted: rank 0 is the
// one that was inserted last. A wrong theta is found out.
func TestLatestFitsTheory(t *testing.T) {
	const keys, draws, ranks, theta, wrong = 1000, 300_000, 200, 0.99, 0.95
	m := Mix{Keys: keys, GetPct: 95, Theta: theta, Latest: true, Workers: 1, Seed: 9}
	s := m.Stream(0)
	count := make([]float64, ranks+1) // the last of all others
	right, other := make([]float64, ranks+1), make([]float64, ranks+1)
	n, gets := uint64(keys), 0.0
	zetas := map[float64]float64{theta: 0, wrong: 0}
	for of := range zetas {
		for k := 1; k <= keys; k++ {
			zetas[of] += math.Pow(float64(k), -of)
		}
	}
	weight := map[float64]float64{theta: 0, wrong: 0} // sum of 1/zeta over all gets
	for range draws {
		index, op, _ := s.Next()
		if op == Insert {
			if index != n {
				t.Fatalf("key %d is inserted, want %d", index, n)
			}
			n++
			for of := range zetas {
				zetas[of] += math.Pow(float64(n), -of)
			}
			s.Settle(index)
			continue
		}
		if index >= n {
			t.Fatalf("key %d of %d was drawn", index, n)
		}
		count[min(n-1-index, ranks)]++
		gets++
		for of := range zetas {
			weight[of] += 1 / zetas[of]
		}
	}
	for of, want := range map[float64][]float64{theta: right, wrong: other} {
		want[ranks] = gets
		for k := range ranks {
			want[k] = weight[of] * math.Pow(float64(k+1), -of)
			want[ranks] -= want[k]
		}
	}
	if x, most := fits(count, right); x > most {
		t.Errorf("chi squared is %.0f, over %.0f", x, most)
	}
	if x, most := fits(count, other); x < most {
		t.Errorf("passes for a theta of %v, with %.0f under %.0f", wrong, x, most)
	}
	if inserted := float64(n-keys) / draws; math.Abs(inserted-0.05) > 0.005 {
		t.Errorf("%v of the operations were inserts", inserted)
	}
}

// W6: no two workers insert the same key, and none draws one that was not stored, in
// whatever order the inserts end; all come to be drawn.
func TestWorkersAgreeOnWhatThereIs(t *testing.T) {
	const workers, keys, inFlight, rounds = 3, 100, 70, 20_000
	m := Mix{Keys: keys, GetPct: 50, Theta: 0.5, Latest: true, Workers: workers, InFlight: inFlight, Seed: 3}
	stored, drawn := make(map[uint64]bool), make(map[uint64]bool)
	for i := range uint64(keys) {
		stored[i] = true
	}
	streams, pending := make([]*Stream, workers), make([][]uint64, workers)
	for w := range streams {
		streams[w] = m.Stream(w)
	}
	r := NewRandom(5, 0)
	asked := make(map[uint64]bool)
	for range rounds {
		w := int(r.Below(workers))
		s := streams[w]
		index, op, _ := s.Next()
		switch {
		case op != Insert && !stored[index]:
			t.Fatalf("worker %d draws key %d, which is not there", w, index)
		case op != Insert:
			drawn[index] = true
		case asked[index] || index < keys:
			t.Fatalf("worker %d inserts key %d again", w, index)
		default:
			asked[index] = true
			pending[w] = append(pending[w], index)
		}
		for len(pending[w]) > 0 && (len(pending[w]) == inFlight || r.Below(3) == 0) {
			i := r.Below(uint64(len(pending[w])))
			stored[pending[w][i]] = true
			s.Settle(pending[w][i])
			pending[w][i] = pending[w][len(pending[w])-1]
			pending[w] = pending[w][:len(pending[w])-1]
		}
	}
	seen := 0
	for index := range drawn {
		if index >= keys {
			seen++
		}
	}
	if n := len(stored) - keys; n < rounds/3 || seen < n/10 {
		t.Errorf("%d were inserted, and %d of them drawn", n, seen)
	}
}

// While an insert does not end there are at most so many that began after it; then others
// go on.
func TestAnInsertThatIsLate(t *testing.T) {
	m := Mix{Keys: 10, Theta: 0.99, Latest: true, Workers: 1, InFlight: 4}
	s := m.Stream(0)
	first, _, _ := s.Next()
	inserts := 1
	for range 1000 {
		index, op, _ := s.Next()
		switch {
		case op == Insert:
			inserts++
			s.Settle(index)
		case op != Put || index >= first:
			t.Fatalf("operation %d of key %d", op, index)
		}
	}
	if inserts != overtaken*m.InFlight {
		t.Errorf("%d inserts, want %d", inserts, overtaken*m.InFlight)
	}
	s.Settle(first)
	if index, op, _ := s.Next(); op != Insert || index != first+uint64(inserts) {
		t.Errorf("then operation %d of key %d", op, index)
	}
}

// Streams of one mix may be used by a thread each.
func TestLatestInThreads(t *testing.T) {
	m := Mix{Keys: 100, GetPct: 50, Theta: 0.99, Latest: true, Workers: 4, Seed: 3}
	var done sync.WaitGroup
	for w := range m.Workers {
		s := m.Stream(w)
		done.Go(func() {
			for range 50_000 {
				index, op, _ := s.Next()
				if op == Insert {
					s.Settle(index)
				}
			}
		})
	}
	done.Wait()
}

// A read-modify-write is neither a get nor a put.
func TestShareOfModifies(t *testing.T) {
	for _, m := range []Mix{{GetPct: 50, ModifyPct: 50}, {GetPct: 20, ModifyPct: 30, Theta: 0.99}, {GetPct: 100}, {ModifyPct: 10}} {
		m.Keys, m.Seed = 1000, 6
		const n = 200_000
		var count [Delete]float64
		s := m.Stream(0)
		for range n {
			_, op, _ := s.Next()
			count[op]++
		}
		for op, want := range map[Op]float64{Get: m.GetPct, Modify: m.ModifyPct, Put: 100 - m.GetPct - m.ModifyPct, Insert: 0} {
			if got := 100 * count[op] / n; math.Abs(got-want) > 0.5 || want == 0 && got != 0 {
				t.Errorf("%+v: operation %d has %v %%, want %v", m, op, got, want)
			}
		}
	}
}

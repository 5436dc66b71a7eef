package cachetest_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/remora-kv/remora/test/cachetest"
)

// spoil changes the outcome of an operation, so that there may be no order any more.
func spoil(rng *rand.Rand, ops []cachetest.Operation) {
	o, other := &ops[rng.IntN(len(ops))], &ops[rng.IntN(len(ops))]
	switch rng.IntN(4) {
	case 0:
		o.Outcome.Status = []cachetest.Status{cachetest.OK, cachetest.NotFound, cachetest.Exists, cachetest.Changed}[rng.IntN(4)]
	case 1:
		o.Outcome = other.Outcome
	case 2:
		o.Outcome.Version += rng.Uint64N(3) - 1
	case 3:
		if o.Outcome.Status != cachetest.Unknown {
			o.End = o.Start + 1
		}
	}
}

// The search of this package and that of Porcupine come to the same result.
func TestSearchAgreesWithPorcupine(t *testing.T) {
	t.Parallel()
	const histories = 1500
	verdicts := map[bool]int{}
	for seed := range uint64(histories) {
		rng := rand.New(rand.NewPCG(seed, 1))
		ops := wide(seed, 1+rng.IntN(40), 1+rng.IntN(5))
		for range rng.IntN(3) {
			spoil(rng, ops)
		}
		slices.SortStableFunc(ops, func(a, b cachetest.Operation) int { return cmp.Compare(a.Start, b.Start) })
		want, known := cachetest.ByPorcupine(ops, time.Minute)
		if !known {
			continue // counted below
		}
		verdicts[want]++
		if err := cachetest.Check(ops); (err == nil) != want {
			t.Errorf("seed %d: Porcupine says %v, and here: %v", seed, want, err)
		}
	}
	t.Logf("linearizable or not: %v", verdicts)
	if verdicts[true] < histories/10 || verdicts[false] < histories/10 {
		t.Errorf("of %d histories %v are linearizable: too few of one kind", histories, verdicts)
	}
}

package storetest

import "github.com/remora-kv/remora/store"

func fragmentationCases() []*testCase {
	return join(
		inStore("S3/fragmentation", ruleRefuses, fragmentation),
		inStore("S3/emptied", ruleRefuses, emptied),
	)
}

// fragmentation fills a store, deletes a random half and fills it with another
// size, round after round. The fill that a size reaches must not sink over time, nor be
// lower than Engine.Refill times its fill of an empty store.
func fragmentation(t *trial) {
	tb := t.open(memory(512 << 10))
	tb.refusable = true
	random := t.random(0)
	kinds := []int{60, 900, 200, 3000, 30}
	rounds := max(t.times(10), 3)
	fresh, early, late := freshFills(t, kinds), make([]float64, len(kinds)), make([]float64, len(kinds))
	next := 0
	for round := range rounds {
		for kind, size := range kinds {
			_, taken := tb.fillUp(next, 16, fixed(size))
			next += taken + patience
			share := tb.payload() / fresh[kind]
			if round == 1 {
				early[kind] = share
			}
			late[kind] = share
			if round > 0 && share < t.engine.refill() {
				t.Fatalf("round %d: full at %.1f %% of what values of %d bytes take in an empty store, want at least %.1f %%",
					round, 100*share, size, 100*t.engine.refill())
			}
			tb.deleteHalf(random.IntN)
		}
	}
	t.Logf("values of %v bytes: round 1 reached %.2f of an empty store, round %d %.2f", kinds, early, rounds-1, late)
	for kind, size := range kinds {
		// Values above 1 come from longer items that happened to remain.
		if late[kind] < 0.9*min(early[kind], 1) {
			t.Fatalf("values of %d bytes: full at %.2f of an empty store in round 1, at %.2f in round %d",
				size, early[kind], late[kind], rounds-1)
		}
	}
}

// freshFills returns the payload that each size reaches in an empty store.
func freshFills(t *trial, kinds []int) []float64 {
	var fills []float64
	for _, size := range kinds {
		tb := t.open(memory(512 << 10))
		tb.refusable = true
		tb.fillUp(0, 16, fixed(size))
		fills = append(fills, tb.payload())
		tb.close()
	}
	return fills
}

// deleteHalf deletes each item with probability 1/2.
func (tb *table) deleteHalf(intN func(int) int) {
	tb.Helper()
	for _, r := range tb.sorted() {
		if intN(2) == 0 {
			if err := tb.del(r.key, store.Always()); err != nil {
				tb.Fatalf("Delete: %v", err)
			}
		}
	}
}

// emptied fills and empties a store many times with different sizes: it must hold
// as much as a new store.
func emptied(t *trial) {
	tb := t.open(memory(256 << 10))
	tb.refusable = true
	_, first := tb.fillUp(0, 16, fixed(100))
	random := t.random(0)
	for range t.times(30) {
		for _, r := range tb.shuffled(random.Shuffle) {
			if err := tb.del(r.key, store.Always()); err != nil {
				t.Fatalf("Delete: %v", err)
			}
		}
		if st := tb.stats; st.Items != 0 || st.KeyBytes != 0 || st.ValueBytes != 0 {
			t.Fatalf("all items were deleted, but Stats is %+v", st)
		}
		tb.fillUp(0, 16, fixed(1+random.IntN(2000)))
	}
	for _, r := range tb.shuffled(random.Shuffle) {
		tb.tryDel(r.key, store.Always())
	}
	if _, last := tb.fillUp(0, 16, fixed(100)); last < first*95/100 {
		t.Fatalf("a new store accepted %d items, but only %d after it was emptied", first, last)
	}
}

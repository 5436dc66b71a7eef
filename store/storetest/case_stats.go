package storetest

import "github.com/remora-kv/remora/store"

func statsCases() []*testCase {
	return join(
		both("stats/new", "Stats returns the contents and the counters of the partition.", statsNew),
		both("stats/levels", "items in the index, including expired ones not yet reclaimed", statsLevels),
		both("stats/expired", "items reclaimed after their expiry", statsExpired),
	)
}

func statsNew(t *trial) {
	tb := t.open()
	st := tb.stats
	st.IndexBytes, st.ItemBytes = 0, 0 // an empty engine may use some
	if want := (store.Stats{Memory: tb.cfg.Memory}); st != want {
		t.Fatalf("a new partition: %+v", st)
	}
}

// statsLevels puts, replaces and deletes, and checks the sums each time.
func statsLevels(t *trial) {
	tb := t.open()
	var keys, values int64
	for i := range 300 {
		tb.mustPut(numbered(i, 8+i%30), pattern(uint64(i), i))
		tb.mustPut(numbered(i, 8+i%30), pattern(uint64(i), 2*i))
		keys, values = keys+int64(8+i%30), values+int64(2*i)
		tb.wantSums(int64(i+1), keys, values)
	}
	for i := range 300 {
		tb.tryDel(numbered(i, 8+i%30), store.Always())
		keys, values = keys-int64(8+i%30), values-int64(2*i)
		tb.wantSums(int64(299-i), keys, values)
	}
}

func (tb *table) wantSums(items, keys, values int64) {
	tb.Helper()
	st := tb.stats
	if st.Evicted == 0 && (st.Items != items || st.KeyBytes != keys || st.ValueBytes != values) {
		tb.Fatalf("Stats: %d items, %d and %d bytes; want %d, %d and %d",
			st.Items, st.KeyBytes, st.ValueBytes, items, keys, values)
	}
}

// statsExpired replaces expired items: each is either reclaimed or still counted, and
// none is counted twice.
func statsExpired(t *trial) {
	tb := t.open()
	for i := range 200 {
		tb.mustPutEntry(numbered(i, 16), store.Entry{Value: pattern(1, 50), Expires: 10})
	}
	tb.now = 10
	for i := range 100 {
		tb.get(numbered(i, 16))
		tb.mustPut(numbered(i, 16), nil)
	}
	tb.sync()
	if st := tb.stats; st.Items+int64(st.Expired) < 200 || st.Items > 200 {
		t.Fatalf("200 items of which 100 were replaced after their expiry: %+v", st)
	}
}

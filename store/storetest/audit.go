package storetest

import (
	"fmt"

	"github.com/remora-kv/remora/store"
)

// effect is the change of Stats that a call may cause.
type effect struct {
	gets, hits, puts, deletes, refused uint64
	created                            bool // a Put, maybe of a new item
	replaced                           bool // a Put, maybe of an old item
}

func count(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// audit compares Stats after a call with those before.
func (tb *table) audit(e effect) {
	tb.Helper()
	old, st := tb.stats, tb.p.Stats()
	tb.stats = st
	for _, c := range []struct {
		name           string
		old, now, want uint64
	}{
		{"Gets", old.Gets, st.Gets, e.gets},
		{"Hits", old.Hits, st.Hits, e.hits},
		{"Puts", old.Puts, st.Puts, e.puts},
		{"Deletes", old.Deletes, st.Deletes, e.deletes},
		{"Refused", old.Refused, st.Refused, e.refused},
	} {
		if c.now-c.old != c.want {
			tb.Fatalf("Stats: %s went from %d to %d, should grow by %d", c.name, c.old, c.now, c.want)
		}
	}
	if st.Evicted < old.Evicted || st.Expired < old.Expired || st.Rescued < old.Rescued {
		tb.Fatalf("Stats: a counter decreased: from %+v to %+v", old, st)
	}
	if tb.cfg.Mode == store.Store && st.Evicted != 0 {
		tb.Fatalf("Stats: a store evicted %d items", st.Evicted)
	}
	tb.auditItems(old, st, e)
	tb.auditLevels()
}

// auditItems checks that only calls, evictions and expiry change the number of items.
func (tb *table) auditItems(old, st store.Stats, e effect) {
	tb.Helper()
	gone := int64(st.Evicted-old.Evicted) + int64(st.Expired-old.Expired) + int64(e.deletes)
	want := old.Items - gone
	if (e.replaced || !e.created) && st.Items == want || e.created && st.Items == want+1 {
		return
	}
	tb.Fatalf("Stats: Items went from %d to %d, which does not match the call: made %v, replaced %v, deleted %d, with %d evicted and %d expired",
		old.Items, st.Items, e.created, e.replaced, e.deletes, st.Evicted-old.Evicted, st.Expired-old.Expired)
}

// auditLevels checks the levels in Stats (S4).
func (tb *table) auditLevels() {
	tb.Helper()
	if fault := faultOf(tb.stats, tb.cfg); fault != "" {
		tb.Fatalf("Stats: %s: %+v", fault, tb.stats)
	}
	if most := int64(len(tb.model.items)); tb.stats.Items > most {
		tb.Fatalf("Stats: %d items, but no more than %d can exist", tb.stats.Items, most)
	}
}

// faultOf returns the fault in Stats that is evident without knowing the items, or "".
func faultOf(st store.Stats, cfg store.Config) string {
	for _, n := range []int64{st.Items, st.KeyBytes, st.ValueBytes, st.IndexBytes, st.ItemBytes} {
		if n < 0 {
			return "a level is negative"
		}
	}
	switch {
	case st.Memory != cfg.Memory:
		return fmt.Sprintf("Memory is not %d, as configured", cfg.Memory)
	case st.IndexBytes+st.ItemBytes > st.Memory:
		return "index and items exceed the memory"
	case st.KeyBytes+st.ValueBytes > st.ItemBytes:
		return "keys and values exceed the memory of items"
	case st.Hits > st.Gets:
		return "more hits than gets"
	}
	return ""
}

// sync compares the whole partition with the model, by Each, Stats and
// Check.
func (tb *table) sync() {
	tb.Helper()
	tb.model.at(tb.now)
	tb.endShortViews()
	seen := map[string]bool{}
	var keyBytes, valueBytes int64
	tb.p.Each(tb.now, func(k store.Key, item store.Item) bool {
		if seen[string(k.Bytes)] {
			tb.Fatalf("Each visits key %s twice", short(k.Bytes))
		}
		seen[string(k.Bytes)] = true
		b := tb.model.belief(k.Bytes)
		if !b.present {
			tb.Fatalf("Each visits key %s, version %d, expires %d, which should not exist at %d",
				short(k.Bytes), item.Version, item.Expires, tb.now)
		}
		if k.Hash != b.record.hash {
			tb.Fatalf("Each visits key %s with hash %#x, but it was put with %#x", short(k.Bytes), k.Hash, b.record.hash)
		}
		tb.compare("Each", b.record, item)
		keyBytes += int64(len(k.Bytes))
		valueBytes += int64(len(item.Value))
		return true
	})
	for key, r := range tb.model.items {
		switch b := tb.model.belief(r.key); {
		case seen[key] || !b.present:
		case !b.absent:
			tb.Fatalf("Each does not visit key %s, version %d", short(r.key), r.version)
		case r.reclaimable:
			tb.model.forget(r.key)
		default:
			tb.lose(r)
		}
	}
	tb.auditSums(int64(len(seen)), keyBytes, valueBytes)
	if err := tb.p.Check(); err != nil {
		tb.Fatalf("Check: %v", err)
	}
	if st := tb.p.Stats(); st != tb.stats {
		tb.Fatalf("Each and Check changed Stats from %+v to %+v", tb.stats, st)
	}
}

// auditSums compares the items that Each visited with Stats: they are equal if none has expired.
func (tb *table) auditSums(items, keyBytes, valueBytes int64) {
	tb.Helper()
	st := tb.stats
	unsure := false
	for _, r := range tb.model.items {
		unsure = unsure || r.reclaimable || r.expired(tb.now)
	}
	more := st.Items >= items && st.KeyBytes >= keyBytes && st.ValueBytes >= valueBytes
	equal := st.Items == items && st.KeyBytes == keyBytes && st.ValueBytes == valueBytes
	if !more || !unsure && !equal {
		tb.Fatalf("Each visits %d items with %d bytes of keys and %d of values; Stats: %+v", items, keyBytes, valueBytes, st)
	}
}

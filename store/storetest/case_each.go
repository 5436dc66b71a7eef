package storetest

import (
	"bytes"

	"github.com/remora-kv/remora/store"
)

const ruleEach = "Each calls visit for every item that has not expired, in no order, until visit returns false."

func eachCases() []*testCase {
	return join(
		both("S1/each", ruleEach, each),
		both("S1/each-stops", ruleEach, eachStops),
		both("S1/each-skips-expired", ruleEach, eachSkipsExpired),
		both("S1/each-keys", "The key and the item are views", eachKeys),
	)
}

func each(t *trial) {
	tb := t.open()
	tb.sync()
	for i := range 500 {
		tb.mustPut(numbered(i, 16), pattern(uint64(i), i))
		if i%50 == 0 {
			tb.sync()
		}
	}
	for i := range 500 {
		tb.tryDel(numbered(i, 16), store.Always())
		if i%50 == 0 {
			tb.sync()
		}
	}
	tb.sync()
}

func eachStops(t *trial) {
	tb := t.open()
	for i := range 100 {
		tb.mustPut(numbered(i, 16), nil)
	}
	for _, n := range []int{1, 2, 50, 99} {
		visits := 0
		tb.p.Each(tb.now, func(store.Key, store.Item) bool {
			visits++
			return visits < n
		})
		if visits != n {
			t.Fatalf("visit returned false at visit %d and was called %d times", n, visits)
		}
	}
}

func eachSkipsExpired(t *trial) {
	tb := t.open()
	for i := range 100 {
		tb.mustPutEntry(numbered(i, 16), store.Entry{Expires: int64(i % 10)})
	}
	for now := range int64(12) {
		tb.now = now
		visits := 0
		tb.p.Each(now, func(_ store.Key, item store.Item) bool {
			if item.Expires != 0 && item.Expires <= now {
				t.Fatalf("Each visits an item that expired at %d, at %d", item.Expires, now)
			}
			visits++
			return true
		})
		if want := 10 * (10 - min(int(now), 9)); visits != want {
			t.Fatalf("Each visits %d items at %d, want %d", visits, now, want)
		}
	}
}

// eachKeys uses the keys that Each has passed to visit, after Each has returned.
func eachKeys(t *trial) {
	tb := t.open()
	for i := range 200 {
		tb.mustPut(numbered(i, 8+i%40), pattern(uint64(i), 50))
	}
	var keys []store.Key
	tb.p.Each(tb.now, func(k store.Key, _ store.Item) bool {
		if tb.engine.ShortViews {
			k.Bytes = bytes.Clone(k.Bytes)
		}
		keys = append(keys, k)
		return true
	})
	for _, k := range keys {
		if item, err := tb.p.Get(k, tb.now); err != nil {
			t.Fatalf("Get of a key that Each visited: %v", err)
		} else if r := tb.model.items[string(k.Bytes)]; r == nil || !bytes.Equal(r.value, item.Value) {
			t.Fatalf("Get of a key that Each visited returns another value")
		}
	}
	tb.stats = tb.p.Stats()
}

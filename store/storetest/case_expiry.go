package storetest

import (
	"errors"
	"math"

	"github.com/remora-kv/remora/store"
)

const (
	ruleGone  = "An item has expired if its expiry is not 0 and not after now: no call returns it, and IfAbsent succeeds."
	ruleTouch = "Touch sets the time when the item expires, 0 for never, and counts it as used."
	ruleClock = "it may stand still or step back."
	ruleInt64 = "Times are milliseconds since the Unix epoch, as int64."
)

func expiryCases() []*testCase {
	return join(
		both("S1/expiry", ruleGone, expiry),
		both("S1/expiry-every-call", ruleGone, expiryEveryCall),
		both("S1/expiry-extremes", ruleInt64, expiryExtremes),
		both("S1/touch", ruleTouch, touch),
	)
}

func clockCases() []*testCase {
	return join(
		both("S6/clock-stands-still", ruleClock, clockStandsStill),
		both("S6/clock-steps-back", ruleClock, clockStepsBack),
	)
}

// day0 is a time of the magnitude of today.
const day0 = 1_800_000_000_000

// expiry moves the clock to just before, at and after the expiry.
func expiry(t *trial) {
	tb := t.open()
	tb.now = day0
	for i := range 100 {
		tb.mustPutEntry(numbered(i, 16), store.Entry{Value: pattern(uint64(i), i), Expires: day0 + int64(i)})
	}
	for ; tb.now < day0+110; tb.now++ {
		for i := range 100 {
			there := tb.get(numbered(i, 16)) != nil
			if want := day0+int64(i) > tb.now; there != want {
				t.Fatalf("an item that expires at %d exists: %v, at %d", i, there, tb.now-day0)
			}
		}
		tb.sync()
	}
}

// expiryEveryCall makes each kind of call on an item that has just expired.
func expiryEveryCall(t *trial) {
	tb := t.open()
	calls := []func(key []byte) error{
		func(key []byte) error { return ifThere(count(tb.get(key) != nil), nil, store.ErrNotFound) },
		func(key []byte) error { return tb.del(key, store.Always()) },
		func(key []byte) error { return tb.del(key, store.IfPresent()) },
		func(key []byte) error { return tb.touch(key, 0) },
		func(key []byte) error { return tb.touch(key, day0+1000) },
		func(key []byte) error {
			_, err := tb.put(key, store.Entry{}, store.IfPresent())
			return err
		},
		func(key []byte) error {
			_, err := tb.put(key, store.Entry{}, store.IfVersion(tb.model.last))
			return err
		},
	}
	for i, call := range calls {
		for _, late := range []int64{0, 1, 1 << 40} {
			key := numbered(i, 16)
			tb.now = day0
			tb.mustPutEntry(key, store.Entry{Value: key, Expires: day0 + 10})
			tb.now += 10 + late
			if err := call(key); !errors.Is(err, store.ErrNotFound) {
				t.Fatalf("call %d on an item that expired %d ms ago: %v", i, late, err)
			}
			if _, err := tb.put(key, store.Entry{Value: key}, store.IfAbsent()); err != nil {
				t.Fatalf("Put IfAbsent after call %d on an item that expired %d ms ago: %v", i, late, err)
			}
			tb.mustGet(key)
		}
	}
}

// expiryExtremes uses the smallest and largest times.
func expiryExtremes(t *trial) {
	tb := t.open()
	times := []int64{math.MinInt64, math.MinInt64 + 1, -day0, -1, 0, 1, 1 << 31, 1 << 32, day0, 1 << 47, 1 << 48, 1 << 53, math.MaxInt64 - 1, math.MaxInt64}
	for _, now := range times {
		for i, expires := range times {
			tb.now = now
			key := numbered(i, 10)
			tb.mustPutEntry(key, store.Entry{Value: key, Expires: expires})
			if there := tb.get(key) != nil; there != (expires == 0 || expires > now) {
				t.Fatalf("an item that expires at %d exists: %v, at %d", expires, there, now)
			}
			tb.mustPut(key, key)
			if err := tb.touch(key, expires); err != nil {
				t.Fatalf("Touch: %v", err)
			}
			if there := tb.get(key) != nil; there != (expires == 0 || expires > now) {
				t.Fatalf("an item touched to expire at %d exists: %v, at %d", expires, there, now)
			}
		}
		tb.sync()
	}
}

func touch(t *trial) {
	tb := t.open(memory(8 << 20))
	tb.now = day0
	for i, n := range []int{0, 1, 50, 5000, 1 << 20} {
		key := numbered(i, 20)
		version := tb.mustPutEntry(key, store.Entry{Value: pattern(1, n), Flags: 5, Expires: day0 + 10})
		for _, expires := range []int64{day0 + 1, day0 + 1<<40, 0, day0 + 5} {
			if err := tb.touch(key, expires); err != nil {
				t.Fatalf("Touch: %v", err)
			}
			if r := tb.mustGet(key); r.expires != expires || r.version != version {
				t.Fatalf("after Touch(%d): %+v", expires, r)
			}
		}
		tb.sync()
		tb.now += 5
		if tb.get(key) != nil || !errors.Is(tb.touch(key, 0), store.ErrNotFound) {
			t.Fatalf("the item outlived the time that Touch set")
		}
		tb.now = day0
		key[0] = 0xff
		tb.mustPut(key, nil)
		if err := tb.touch(key, day0); err != nil {
			t.Fatalf("Touch with a past expiry: %v", err)
		}
		if tb.get(key) != nil {
			t.Fatalf("an item touched to expire now exists")
		}
	}
	if err := tb.touch([]byte("never put"), 0); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("Touch of a missing key: %v", err)
	}
}

// clockStandsStill uses a partition at one moment, with items that expire at it,
// before and after.
func clockStandsStill(t *trial) {
	tb := t.open(memory(128 << 10))
	tb.now = day0
	random := t.random(0)
	for i := range t.times(2500) {
		key := numbered(random.IntN(300), 12)
		e := store.Entry{Value: pattern(uint64(i), random.IntN(500)), Expires: day0 - 1 + random.Int64N(3)}
		tb.tryPut(key, e, store.Always())
		tb.get(numbered(random.IntN(300), 12))
	}
	tb.sync()
}

// clockStepsBack moves the clock at random: an expired item may reappear
// or not, but must be right.
func clockStepsBack(t *trial) {
	tb := t.open(memory(128 << 10))
	random := t.random(0)
	for i := range t.times(2500) {
		switch random.IntN(10) {
		case 0:
			tb.now = day0 + random.Int64N(1000) - 500
		case 1:
			tb.now -= random.Int64N(50)
		case 2:
			tb.now += random.Int64N(50)
		}
		key := numbered(random.IntN(300), 12)
		switch random.IntN(4) {
		case 0:
			e := store.Entry{Value: pattern(uint64(i), random.IntN(500)), Expires: tb.now - 20 + random.Int64N(100)}
			tb.tryPut(key, e, store.Always())
		case 1:
			tb.tryTouch(key, tb.now-20+random.Int64N(100))
		default:
			tb.get(key)
		}
		if i%500 == 0 {
			tb.sync()
		}
	}
}

package store_test

import (
	"errors"
	"math"
	"strconv"
	"testing"

	"github.com/remora-kv/remora/store"
)

// one is a partition that always holds one item.
type one struct {
	store.Partition
	item   store.Item
	err    error // of Get
	putErr error
	puts   int
}

func (o *one) Get(store.Key, int64) (store.Item, error) { return o.item, o.err }

func (o *one) Put(_ store.Key, e store.Entry, _ store.Condition, _ int64) (uint64, error) {
	o.puts++
	if o.putErr != nil {
		return 0, o.putErr
	}
	o.item = store.Item{Value: append([]byte{}, e.Value...), Version: o.item.Version + 1, Expires: e.Expires, Flags: e.Flags}
	return o.item.Version, nil
}

func incr(o *one, delta int64) (int64, uint64, error) {
	return store.Incr(o, store.Key{}, delta, 0, make([]byte, store.CounterSize))
}

func TestIncr(t *testing.T) {
	const highest, lowest = "9223372036854775807", "-9223372036854775808"
	for _, c := range []struct {
		value string
		delta int64
		want  string
	}{
		{"0", 1, "1"},
		{"0", -1, "-1"},
		{"9", 1, "10"},
		{"10", -1, "9"},
		{"-1", 1, "0"},
		{"-0", 0, "0"},
		{"-0", 5, "5"},
		{"007", 1, "8"},
		{"-007", 1, "-6"},
		{"00000000000000000001", 1, "2"}, // as long as a counter may be
		{highest, 0, highest},
		{highest, -1, "9223372036854775806"},
		{highest, math.MinInt64, "-1"},
		{lowest, 0, lowest},
		{lowest, 1, "-9223372036854775807"},
		{lowest, math.MaxInt64, "-1"},
		{"0", math.MaxInt64, highest},
		{"0", math.MinInt64, lowest},
		{"9223372036854775806", 1, highest},
		{"-9223372036854775807", -1, lowest},
		{"1", math.MinInt64, "-9223372036854775807"},
		{"-1", math.MaxInt64, "9223372036854775806"},
	} {
		o := &one{item: store.Item{Value: []byte(c.value), Version: 4, Expires: 77, Flags: 5}}
		sum, version, err := incr(o, c.delta)
		if err != nil || strconv.FormatInt(sum, 10) != c.want || version != 5 {
			t.Errorf("%q plus %d: %d, version %d, %v; want %s", c.value, c.delta, sum, version, err, c.want)
			continue
		}
		if string(o.item.Value) != c.want || o.item.Expires != 77 || o.item.Flags != 5 {
			t.Errorf("%q plus %d left %+v", c.value, c.delta, o.item)
		}
	}
}

func TestIncrNotNumber(t *testing.T) {
	for _, c := range []struct {
		value string
		delta int64
	}{
		{"", 1},
		{"-", 1},
		{"+1", 1},
		{"--1", 1},
		{" 1", 1},
		{"1 ", 1},
		{"1\n", 1},
		{"1.0", 1},
		{"1e3", 1},
		{"0x10", 1},
		{"1_000", 1},
		{"/", 1}, // before 0
		{":", 1}, // after 9
		{"\x00", 1},
		{"12\x0034", 1},
		{"١", 1}, // an Arabic digit
		{"ten", 1},
		{"9223372036854775808", 0},
		{"9223372036854775809", -1},
		{"-9223372036854775809", 1},
		{"9999999999999999999", 0},
		{"-9999999999999999999", 0},
		{"18446744073709551617", 0},  // 2^64 + 1
		{"000000000000000000001", 1}, // longer than a counter may be
		{"9223372036854775807", 1},
		{"-9223372036854775808", -1},
		{"1", math.MaxInt64},
		{"-1", math.MinInt64},
		{"-2", math.MinInt64},
	} {
		o := &one{item: store.Item{Value: []byte(c.value), Version: 4}}
		if _, _, err := incr(o, c.delta); !errors.Is(err, store.ErrNotNumber) {
			t.Errorf("%q plus %d: %v", c.value, c.delta, err)
		}
		if o.puts != 0 {
			t.Errorf("%q plus %d changed the item", c.value, c.delta)
		}
	}
}

func TestIncrErrors(t *testing.T) {
	if _, _, err := incr(&one{err: store.ErrNotFound}, 1); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Incr of nothing: %v", err)
	}
	full := &one{item: store.Item{Value: []byte("9")}, putErr: store.ErrFull}
	if _, _, err := incr(full, 1); !errors.Is(err, store.ErrFull) {
		t.Errorf("Incr in a full store: %v", err)
	}
}

// FuzzIncr compares Incr with strconv, which accepts a few more forms.
func FuzzIncr(f *testing.F) {
	f.Add("0", int64(1))
	f.Add("-9223372036854775808", int64(-1))
	f.Add("9223372036854775807", int64(1))
	f.Add("+5", int64(0))
	f.Fuzz(func(t *testing.T, value string, delta int64) {
		n, err := strconv.ParseInt(value, 10, 64)
		valid := err == nil && value[0] != '+' && len(value) <= store.CounterSize
		fits := delta >= 0 && n <= math.MaxInt64-delta || delta < 0 && n >= math.MinInt64-delta
		o := &one{item: store.Item{Value: []byte(value), Version: 4}}
		sum, _, got := incr(o, delta)
		if valid && fits {
			if got != nil || sum != n+delta {
				t.Errorf("%q plus %d: %d, %v", value, delta, sum, got)
			}
		} else if !errors.Is(got, store.ErrNotNumber) {
			t.Errorf("%q plus %d: %d, %v", value, delta, sum, got)
		}
	})
}

package load

import (
	"runtime"
	"slices"
	"testing"
)

func TestParseSizes(t *testing.T) {
	for _, text := range []string{
		"", "0", "-1", "x", "uniform", "uniform:", "uniform:3", "uniform:5-4", "uniform:0-4", "uniform:1-x", "uniform:1-2-3",
		"ETC", "weibo:3", "99999999999", "1.5",
	} {
		if s, err := ParseValueSizes(text); err == nil {
			t.Errorf("%q became %+v", text, s)
		}
		if s, err := ParseKeySizes(text); err == nil {
			t.Errorf("%q became %+v", text, s)
		}
	}
	for text, want := range map[string][2]int{"1": {1, 1}, "32": {32, 32}, "uniform:7-7": {7, 7}, "uniform:1-899": {1, 899}} {
		if s, err := ParseValueSizes(text); err != nil || s.Least() != want[0] || s.Most() != want[1] {
			t.Errorf("%q became %+v, %v", text, s, err)
		}
	}
	if s, err := ParseKeySizes("weibo"); err == nil {
		t.Errorf("keys of weibo are %+v", s)
	}
}

// W3: keys and values of many sizes are the same for whoever makes them, in whatever order,
// and found out when they are wrong.
func TestVaryingKeysAndValues(t *testing.T) {
	for _, name := range []string{"etc", "uniform:8-64"} {
		keySizes, _ := ParseKeySizes(name)
		valueSizes, _ := ParseValueSizes(name)
		k, v := KeysOf(keySizes), ValuesOf(valueSizes)
		again, check := KeysOf(keySizes), ValuesOf(valueSizes)
		key, value, other := k.Buffer(), v.Buffer(), again.Buffer()
		const n = 20_000
		all := make(map[string]int, n)
		lengths := make(map[int]bool)
		for i := range uint64(n) {
			one := k.Fill(key, i)
			if j, seen := all[string(one)]; seen {
				t.Fatalf("%s: key %d is that of %d: %q", name, i, j, one)
			}
			all[string(one)] = int(i)
			lengths[len(one)] = true
			if len(one) != keySizes.At(i) || slices.Contains(one, 0) {
				t.Fatalf("%s: key %d is %q", name, i, one)
			}
			b := v.Fill(value, i, i)
			if err := check.Check(b, i); err != nil || len(b) != valueSizes.At(i) {
				t.Fatalf("%s: value %d of %d bytes: %v", name, i, len(b), err)
			}
			if check.Check(b[:len(b)-1], i) == nil || len(b) >= 8 && check.Check(b, i+1) == nil {
				t.Fatalf("%s: a wrong value %d passes", name, i)
			}
		}
		for i := n - 1; i >= 0; i-- {
			if j, seen := all[string(again.Fill(other, uint64(i)))]; !seen || i != j {
				t.Fatalf("%s: key %d is another the second time", name, i)
			}
		}
		if len(lengths) < 30 {
			t.Errorf("%s: keys of %d lengths", name, len(lengths))
		}
	}
}

// Long keys are not those of long values.
func TestSizesOfKeysAndValuesAreIndependent(t *testing.T) {
	keys, _ := ParseKeySizes("uniform:1-2")
	values, _ := ParseValueSizes("uniform:1-2")
	same := 0
	for i := range uint64(10_000) {
		if keys.At(i) == values.At(i) {
			same++
		}
	}
	if same < 4700 || same > 5300 {
		t.Errorf("%d of 10000 are of the same size", same)
	}
}

// W1: what is made for 128 million keys is as little as what is made for a few.
func TestManyKeysStartAtOnce(t *testing.T) {
	sizes, _ := ParseValueSizes("weibo")
	for _, m := range []Mix{
		{GetPct: 95},
		{GetPct: 95, Theta: 0.99},
		{GetPct: 95, Theta: 0.99, ScanPct: 20},
		{GetPct: 95, HotOpsPct: 80, HotKeysPct: 20},
		{GetPct: 95, Theta: 0.99, Latest: true, Workers: 4, InFlight: 64},
	} {
		m.Keys = 128_000_000
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for worker := range 4 {
			s, v := m.Stream(worker), ValuesOf(sizes)
			if index, _, _ := s.Next(); index > 2*m.Keys || len(v.Buffer()) != 899 {
				t.Errorf("key %d", index)
			}
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 64<<10 {
			t.Errorf("%+v: four streams take %d bytes", m, n)
		}
	}
}

package load

import (
	"math"
	"testing"
)

// fits compares counts with what theory expects of them, by chi squared. Neighbours of
// which few are expected are taken together.
func fits(count, want []float64) (x, most float64) {
	const enough = 10 // the usual rule is 5
	cells := 0
	var k, w float64
	add := func() {
		x += (k - w) * (k - w) / w
		cells++
		k, w = 0, 0
	}
	for i := range count {
		if k, w = k+count[i], w+want[i]; w >= enough {
			add()
		}
	}
	if w > 0 {
		add()
	}
	return x, critical(cells - 1)
}

// critical is what chi squared exceeds once in ten thousand, by the approximation of
// Wilson and Hilferty.
func critical(freedom int) float64 {
	const z = 3.719
	f := float64(freedom)
	return f * math.Pow(1-2/(9*f)+z*math.Sqrt(2/(9*f)), 3)
}

func TestCritical(t *testing.T) {
	for freedom, want := range map[int]float64{5: 25.745, 10: 35.564, 100: 161.32} {
		if got := critical(freedom); math.Abs(got-want) > 0.03*want {
			t.Errorf("with %d degrees of freedom %v, want %v", freedom, got, want)
		}
	}
}

// zipfCounts is what theory expects of so many draws.
func zipfCounts(n int, theta, draws float64) []float64 {
	out, zeta := make([]float64, n), 0.0
	for k := range out {
		out[k] = math.Pow(float64(k+1), -theta)
		zeta += out[k]
	}
	for k := range out {
		out[k] *= draws / zeta
	}
	return out
}

// tally counts the ranks of the operations of a stream, whose keys are scattered.
func tally(m Mix, draws int) []float64 {
	rank := make([]int, m.Keys)
	p := NewPermutation(m.Keys, m.Seed)
	for r := range m.Keys {
		rank[p.At(r)] = int(r)
	}
	count := make([]float64, m.Keys)
	s := m.Stream(1)
	for range draws {
		index, _, _ := s.Next()
		count[rank[index]]++
	}
	return count
}

const chiKeys, chiDraws = 2000, 1_000_000

// Frequencies of Zipf, drawn as ranks and scattered over the keys of a stream, are those of
// theory; and the test would see a theta that is wrong by two hundredths.
func TestZipfFitsTheory(t *testing.T) {
	for _, theta := range []float64{0.5, 0.9, 0.99, 1, 1.2} {
		z, r := NewZipf(chiKeys, theta), NewRandom(21, 0)
		ranks := make([]float64, chiKeys)
		for range chiDraws {
			ranks[z.Draw(&r)]++
		}
		scattered := tally(Mix{Keys: chiKeys, GetPct: 95, Theta: theta, Seed: 22}, chiDraws)
		for what, count := range map[string][]float64{"ranks": ranks, "scattered": scattered} {
			if x, most := fits(count, zipfCounts(chiKeys, theta, chiDraws)); x > most {
				t.Errorf("theta %v, %s: chi squared is %.0f, over %.0f", theta, what, x, most)
			}
			for _, wrong := range []float64{theta - 0.02, theta + 0.02} {
				if x, most := fits(count, zipfCounts(chiKeys, wrong, chiDraws)); x < most {
					t.Errorf("theta %v, %s: passes for %v, %.0f under %.0f", theta, what, wrong, x, most)
				}
			}
		}
	}
}

// Keys that are scattered by another seed are others: the test of scattered keys looks at
// keys, and not at how often the most popular one comes.
func TestScatteringCounts(t *testing.T) {
	m := Mix{Keys: chiKeys, GetPct: 95, Theta: 0.99, Seed: 22}
	count, s := make([]float64, m.Keys), m.Stream(1)
	other := NewPermutation(m.Keys, m.Seed+1)
	for range chiDraws {
		index, _, _ := s.Next()
		count[index]++
	}
	want, theory := make([]float64, m.Keys), zipfCounts(chiKeys, m.Theta, chiDraws)
	for r := range m.Keys {
		want[other.At(r)] = theory[r]
	}
	if x, most := fits(count, want); x < most {
		t.Errorf("another scattering passes, with %.0f under %.0f", x, most)
	}
}

// hotCounts is what theory expects.
func hotCounts(n int, ops, keys, draws float64) []float64 {
	out, hot := make([]float64, n), int(math.Round(float64(n)*keys/100))
	for i := range out {
		if out[i] = draws * (1 - ops/100) / float64(n-hot); i < hot {
			out[i] = draws * ops / 100 / float64(hot)
		}
	}
	return out
}

func TestHotspotFitsTheory(t *testing.T) {
	for _, tc := range []struct{ ops, keys float64 }{{80, 20}, {99, 1}, {50, 10}, {20, 20}} {
		m := Mix{Keys: chiKeys, GetPct: 50, HotOpsPct: tc.ops, HotKeysPct: tc.keys, Seed: 4}
		count := tally(m, chiDraws)
		if x, most := fits(count, hotCounts(chiKeys, tc.ops, tc.keys, chiDraws)); x > most {
			t.Errorf("%v: chi squared is %.0f, over %.0f", tc, x, most)
		}
		if x, most := fits(count, hotCounts(chiKeys, tc.ops-1, tc.keys, chiDraws)); x < most {
			t.Errorf("%v: passes for a percent less, with %.0f under %.0f", tc, x, most)
		}
	}
	// All keys, or fewer than one of them.
	for _, pct := range []float64{100, 0.001} {
		m := Mix{Keys: 10, HotOpsPct: 50, HotKeysPct: pct, Seed: 4}
		if x, most := fits(tally(m, 10_000), hotCounts(10, 50, max(pct, 10), 10_000)); pct != 100 && x > most {
			t.Errorf("%v %% of ten keys: chi squared is %.0f, over %.0f", pct, x, most)
		}
	}
}

// Sizes are those of their laws, whole bytes: by their definitions, written out here.
func TestSizesFitTheory(t *testing.T) {
	gpd := func(x float64) float64 { return 1 - math.Pow(1+0.348238*x/214.476, -1/0.348238) }
	gev := func(x float64) float64 {
		return math.Exp(-math.Pow(1+0.078688*(x-30.7984)/8.20449, -1/0.078688))
	}
	geometric := func(x float64) float64 { return 1 - math.Pow(42.0/43, x) }
	even := func(x float64) float64 { return (x - 9) / 30 }
	for _, tc := range []struct {
		name        string
		parse       func(string) (Sizes, error)
		below       func(float64) float64
		least, most int
		mean        float64
	}{
		{"etc", ParseValueSizes, gpd, 1, 64 << 10, 329.5},
		{"weibo", ParseValueSizes, geometric, 1, 899, 43},
		{"uniform:10-39", ParseValueSizes, even, 10, 39, 24.5},
		{"etc", ParseKeySizes, gev, 8, 250, 36.8},
		{"uniform:10-39", ParseKeySizes, even, 10, 39, 24.5},
	} {
		s, err := tc.parse(tc.name)
		if err != nil || s.Least() != tc.least || s.Most() != tc.most {
			t.Fatalf("%s: %+v, %v", tc.name, s, err)
		}
		count, sum := make([]float64, tc.most+1), 0.0
		for index := range uint64(chiDraws) {
			n := s.At(index)
			if n < tc.least || n > tc.most {
				t.Fatalf("%s: %d bytes", tc.name, n)
			}
			count[n]++
			sum += float64(n)
		}
		want := func(below func(float64) float64) []float64 {
			out := make([]float64, tc.most+1)
			low := below(float64(tc.least - 1))
			for n := tc.least; n <= tc.most; n++ {
				out[n] = chiDraws * (below(float64(n)) - below(float64(n-1))) / (below(float64(tc.most)) - low)
			}
			return out
		}
		if x, most := fits(count, want(tc.below)); x > most {
			t.Errorf("%s: chi squared is %.0f, over %.0f", tc.name, x, most)
		}
		scaled := func(x float64) float64 { return tc.below(x * 1.02) }
		if x, most := fits(count, want(scaled)); tc.name[0] != 'u' && x < most {
			t.Errorf("%s: passes for sizes a fiftieth shorter, with %.0f under %.0f", tc.name, x, most)
		}
		if got := sum / chiDraws; math.Abs(got-s.Mean()) > 0.005*tc.mean || math.Abs(s.Mean()-tc.mean) > 0.5 {
			t.Errorf("%s: a mean of %v, it says %v, want %v", tc.name, got, s.Mean(), tc.mean)
		}
	}
}

// What the papers say of the texts of Weibo: 43 bytes in the mean, and a few in a million
// above 512.
func TestWeiboIsThatOfThePapers(t *testing.T) {
	s, err := ParseValueSizes("weibo")
	if err != nil || math.Abs(s.Mean()-43) > 0.001 {
		t.Errorf("a mean of %v, %v", s.Mean(), err)
	}
	above := 50e6 * (1 - weiboValues.below(512))
	if above < 331*0.8 || above > 331*1.2 {
		t.Errorf("of 50 million %v are above 512, and were 331", above)
	}
	if s.Quantile(0) != 1 || s.Quantile(1) != 899 {
		t.Errorf("from %d to %d", s.Quantile(0), s.Quantile(1))
	}
}

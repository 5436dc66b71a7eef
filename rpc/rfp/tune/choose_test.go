package tune

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// Results of mostly 300 bytes. With F = 256 each takes two READs,
// with the chosen F one.
func TestChosenFetchSizeHalvesTheReads(t *testing.T) {
	p, s := paperProfile(t), NewSample()
	for i := range 1000 {
		s.Process(time.Microsecond)
		if i%10 == 0 {
			s.Result(32)
		} else {
			s.Result(300)
		}
	}
	choice, rows := Choose(p, s)
	if choice.F != 312 || choice.R != 1 {
		t.Errorf("chose R %d, F %d; the frame of a result of 300 bytes has 312", choice.R, choice.F)
	}
	before := Evaluate(p, s, Choice{R: choice.R, F: 256})
	if rows[0].Reads != 1 || math.Abs(before.Reads-1.9) > 1e-9 || rows[0].OneRead != 1 {
		t.Errorf("READs per result: %v with F %d, %v with F 256", rows[0].Reads, choice.F, before.Reads)
	}
	if gain := rows[0].Rate / before.Rate; gain < 1.5 {
		t.Errorf("gain %.2f", gain)
	}
	if len(rows) != (p.H-p.L+1)*p.N {
		t.Errorf("%d rows", len(rows))
	}
}

// The paper's own choice for its workload of 32 bytes: 5 and 256, where process
// times reach up to the crossover.
func TestChoiceOfThePaper(t *testing.T) {
	p, s := paperProfile(t), NewSample()
	for i := range 1000 {
		s.Result(32)
		s.Process(time.Duration(i*7) * time.Nanosecond)
	}
	if choice, _ := Choose(p, s); choice != (Choice{R: 5, F: 256}) {
		t.Errorf("chose %+v", choice)
	}
}

func TestRFollowsTheProcessTimes(t *testing.T) {
	p := paperProfile(t)
	read := p.ReadTime(256)
	for _, tc := range []struct {
		times []time.Duration
		r     int
	}{
		{nil, 5}, // unknown: what the hardware rewards
		{[]time.Duration{0}, 1},
		{[]time.Duration{read * 9 / 10}, 1},
		{[]time.Duration{read * 9 / 10, read * 19 / 10}, 2},
		{[]time.Duration{read * 39 / 10}, 4},
		{[]time.Duration{0, 100 * read}, 1}, // no R covers it: replied
		{[]time.Duration{100 * read}, 1},
	} {
		s := NewSample()
		s.Result(32)
		for _, d := range tc.times {
			s.Process(d)
		}
		if choice, _ := Choose(p, s); choice.R != tc.r || choice.F != 256 {
			t.Errorf("%v: chose %+v, want R %d, F 256", tc.times, choice, tc.r)
		}
	}
}

// Where everything is replied, F is still one that fits.
func TestFetchSizeWhereNothingIsFetched(t *testing.T) {
	p, s := paperProfile(t), NewSample()
	s.Result(300)
	s.Process(time.Second)
	if choice, rows := Choose(p, s); choice != (Choice{R: 1, F: 312}) || rows[0].Fetched != 0 {
		t.Errorf("chose %+v", rows[0])
	}
}

func TestChooseWithoutASample(t *testing.T) {
	p := paperProfile(t)
	if choice, _ := Choose(p, NewSample()); choice != (Choice{R: 5, F: 256}) {
		t.Errorf("chose %+v", choice)
	}
}

// application is a list of results and of times, from which the sum of the
// package doc is computed word by word.
type application struct {
	frames []int
	times  []time.Duration
}

// throughput is T: the sum over all pairs of a size and a time.
func (a *application) throughput(p *Profile, r, f int) float64 {
	sum := 0.0
	for _, size := range a.frames {
		for _, d := range a.times {
			k := 1
			for time.Duration(k)*p.ReadTime(f) < d {
				k++
			}
			switch {
			case k > r:
				sum += p.Reply(size)
			case size <= f:
				sum += p.Rate(k, f)
			default:
				sum += p.Rate(k, f) / 2
			}
		}
	}
	return sum / float64(len(a.frames)*len(a.times))
}

// randomProfile makes any table, also one that no hardware has.
func randomProfile(rng *rand.Rand) *Profile {
	p := &Profile{Fabric: "random", L: 16 + rng.IntN(200), N: 1 + rng.IntN(6)}
	p.H = p.L
	for range 1 + rng.IntN(5) {
		q := Point{F: p.H, ReadTime: time.Duration(100 + rng.IntN(3000)), Reply: 1e5 + 1e6*rng.Float64()}
		for range p.N {
			q.Rates = append(q.Rates, 1e5+1e7*rng.Float64())
		}
		p.Points = append(p.Points, q)
		p.H += 1 + rng.IntN(40)
	}
	p.H = p.Points[len(p.Points)-1].F
	return p
}

func randomApplication(rng *rand.Rand, p *Profile) (*application, *Sample) {
	a, s := &application{}, NewSample()
	for range 1 + rng.IntN(20) {
		n := rng.IntN(p.H + 40)
		s.Result(n)
		a.frames = append(a.frames, n+12)
	}
	for range 1 + rng.IntN(10) {
		d := endOf(stepOf(time.Duration(rng.IntN(10_000)))) // as exact as a sample is
		s.Process(d)
		a.times = append(a.times, d)
	}
	return a, s
}

func checkChoice(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 5))
	p := randomProfile(rng)
	if err := p.validate(); err != nil {
		t.Fatal(err)
	}
	a, s := randomApplication(rng, p)
	choice, rows := Choose(p, s)
	best := 0.0
	for r := 1; r <= p.N; r++ {
		for f := p.L; f <= p.H; f++ {
			best = max(best, a.throughput(p, r, f))
		}
	}
	if got := a.throughput(p, choice.R, choice.F); got < best*(1-1e-9) {
		t.Errorf("seed %d: %+v reaches %v, and there is %v", seed, choice, got, best)
	}
	for _, row := range rows {
		want := a.throughput(p, row.R, row.F)
		if math.Abs(row.Rate-want) > 1e-9*want {
			t.Fatalf("seed %d: %+v, want the rate %v", seed, row, want)
		}
		// Of equal ones the smallest F, and of those the smallest R (U1).
		if row.Rate == rows[0].Rate && row.quick == rows[0].quick && (row.F < choice.F || row.F == choice.F && row.R < choice.R) {
			t.Fatalf("seed %d: chose %+v, but %+v is as good and smaller", seed, choice, row)
		}
	}
	if row := Evaluate(p, s, choice); row != rows[0] {
		t.Errorf("seed %d: evaluated %+v, chosen as %+v", seed, row, rows[0])
	}
}

// The enumeration finds the maximum of the sum as the package doc writes it.
func TestChooseIsTheMaximum(t *testing.T) {
	for seed := range uint64(60) {
		checkChoice(t, seed)
	}
}

func FuzzChoose(f *testing.F) {
	f.Add(uint64(1000))
	f.Fuzz(checkChoice)
}

// Where every result needs R READs, the sum is equation (2) as it is printed.
func TestEquationTwo(t *testing.T) {
	p, s := paperProfile(t), NewSample()
	sizes := []int{10, 200, 300, 500, 900, 2000}
	for _, n := range sizes {
		s.Result(n)
	}
	s.Process(p.ReadTime(256) * 28 / 10) // three READs
	for _, f := range []int{256, 312, 512} {
		want := 0.0
		for _, n := range sizes {
			if n+12 <= f {
				want += p.Rate(3, f)
			} else {
				want += p.Rate(3, f) / 2
			}
		}
		want /= float64(len(sizes))
		if got := Evaluate(p, s, Choice{R: 3, F: f}).Rate; math.Abs(got-want) > 1e-9*want {
			t.Errorf("F %d: %v, want %v", f, got, want)
		}
	}
}

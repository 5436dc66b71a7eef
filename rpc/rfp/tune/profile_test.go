package tune

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// paperReadings is made after the hardware of RF-RPC. The rates of small
// operations are the paper's: 11.26 million in-bound READs, 2.11 million
// out-bound WRITEs. The curve between is not in its text; it is shaped here so
// that it is flat to the paper's L and bound by bandwidth from the paper's H.
func paperReadings() []Reading {
	var rs []Reading
	for _, size := range []int{32, 64, 128, 256, 384, 512, 768, 1024, 2048, 4096} {
		rate := 11.26e6
		if size > 256 {
			rate = 1 / (1/11.26e6 + float64(size-256)/4.4e9)
		}
		if size >= 1024 {
			rate = 4.2e6 * 1024 / float64(size)
		}
		r := Reading{Size: size, Reads: rate, ReadTime: 1400*time.Nanosecond + time.Duration(size)/5}
		if size == 32 || size == 1024 {
			r.Replies = 2.11e6
		}
		rs = append(rs, r)
	}
	return rs
}

func paperProfile(t testing.TB) *Profile {
	t.Helper()
	p, err := NewProfile("paper", paperReadings())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// N follows from two rates of the paper; L and H are where the curve was bent.
func TestNewProfileFindsTheBounds(t *testing.T) {
	p := paperProfile(t)
	if p.L != 256 || p.H != 1024 || p.N != 5 {
		t.Errorf("L %d, H %d, N %d; want 256, 1024 and 5", p.L, p.H, p.N)
	}
	if got := p.Rate(1, 256); got != 11.26e6 {
		t.Errorf("I(1,256) = %v", got)
	}
	if got := p.Rate(5, 256); got != 11.26e6/5 {
		t.Errorf("I(5,256) = %v", got)
	}
	// Outside: like L below it, by bandwidth above H, by READs above N.
	if p.Rate(1, 8) != p.Rate(1, 256) || p.Rate(1, 2048) != p.Rate(1, 1024)/2 || p.Rate(10, 256) != p.Rate(5, 256)/2 {
		t.Errorf("%v, %v, %v", p.Rate(1, 8), p.Rate(1, 2048), p.Rate(10, 256))
	}
	// Between: an operation of a size in the middle takes the mean of the times.
	mean := (1/p.Rate(1, 384) + 1/p.Rate(1, 512)) / 2
	if got := 1 / p.Rate(1, 448); math.Abs(got-mean) > 1e-6*mean {
		t.Errorf("an operation of 448 bytes takes %v s, want %v", got, mean)
	}
	if got := p.ReadTime(448); got != (p.ReadTime(384)+p.ReadTime(512))/2 {
		t.Errorf("a READ of 448 bytes takes %v", got)
	}
}

// Where replying is as good as fetching, N is 1.
func TestNewProfileOfASymmetricFabric(t *testing.T) {
	rs := paperReadings()
	for i := range rs {
		rs[i].Replies = rs[i].Reads
	}
	p, err := NewProfile("even", rs)
	if err != nil || p.N != 1 {
		t.Errorf("%+v, %v", p, err)
	}
}

// Noise does not make larger READs look faster.
func TestNewProfileTakesNoiseOut(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		rs := paperReadings()
		for i := range rs {
			rs[i].Reads *= 0.8 + 0.4*rng.Float64()
			rs[i].ReadTime += time.Duration(rng.IntN(300))
		}
		if n := Noisy(rs); n != 0 {
			t.Errorf("20 %% are noise at %d bytes", n)
		}
		p, err := NewProfile("noise", rs)
		if err != nil {
			t.Fatal(err)
		}
		for f := p.L + 1; f <= p.H; f++ {
			if p.Rate(1, f) > p.Rate(1, f-1) || p.ReadTime(f) < p.ReadTime(f-1) {
				t.Fatalf("F = %d: %v results/s after %v, READ %v after %v", f, p.Rate(1, f), p.Rate(1, f-1), p.ReadTime(f), p.ReadTime(f-1))
			}
		}
	}
}

// A trial that was disturbed does not show where a larger size was not.
func TestDisturbedReadings(t *testing.T) {
	rs := paperReadings()
	rs[1].Reads /= 10
	rs[4].ReadTime *= 10
	if got := Noisy(rs); got != 64 {
		t.Errorf("noise at %d bytes, want 64", got)
	}
	p, err := NewProfile("noise", rs)
	if err != nil || p.L != 256 || p.H != 1024 || p.ReadTime(384) != p.ReadTime(512) {
		t.Errorf("%v: %+v", err, p)
	}
	if got := Noisy(paperReadings()); got != 0 {
		t.Errorf("noise at %d bytes of a clean curve", got)
	}
}

func TestNewProfileRefusesNonsense(t *testing.T) {
	change := func(f func([]Reading) []Reading) []Reading { return f(paperReadings()) }
	for name, rs := range map[string][]Reading{
		"none":       nil,
		"one":        change(func(rs []Reading) []Reading { return rs[:1] }),
		"twice":      change(func(rs []Reading) []Reading { return append(rs, rs[0]) }),
		"no rate":    change(func(rs []Reading) []Reading { rs[2].Reads = 0; return rs }),
		"no time":    change(func(rs []Reading) []Reading { rs[2].ReadTime = 0; return rs }),
		"not a size": change(func(rs []Reading) []Reading { rs[0].Size = 1; return rs }),
		"infinite":   change(func(rs []Reading) []Reading { rs[0].Reads = math.Inf(1); return rs }),
		"no replies": change(func(rs []Reading) []Reading {
			for i := range rs {
				rs[i].Replies = 0
			}
			return rs
		}),
	} {
		if p, err := NewProfile("x", rs); err == nil {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

package tune

import (
	"math/rand/v2"
	"testing"
	"time"
)

// period records n results of one size and lets a period pass.
func period(t *Tuner, now *time.Duration, n int, size func() int) (Choice, bool) {
	for range n {
		t.Sample().Result(size())
		t.Sample().Process(500 * time.Nanosecond)
	}
	*now += time.Second
	return t.Decide(*now)
}

func always(n int) func() int { return func() int { return n } }

func TestTunerFollowsTheApplication(t *testing.T) {
	p := paperProfile(t)
	tn := NewTuner(p, Choice{R: 5, F: 256}, TunerConfig{})
	var now time.Duration
	tn.Decide(now)
	if c, ok := period(tn, &now, 5000, always(300)); ok {
		t.Fatalf("chose %+v after one period", c)
	}
	if c, ok := period(tn, &now, 5000, always(300)); !ok || c.F != 312 {
		t.Fatalf("chose %+v, %v; want F 312", c, ok)
	}
	for i := range 20 {
		if c, ok := period(tn, &now, 5000, always(300)); ok {
			t.Fatalf("chose %+v in period %d though nothing has changed", c, i)
		}
	}
	// Small results: F falls back because smaller READs are faster.
	changes := 0
	for range 20 {
		if _, ok := period(tn, &now, 5000, always(32)); ok {
			changes++
		}
	}
	if c := tn.Choice(); changes != 1 || c.F != 256 {
		t.Errorf("%d changes to %+v", changes, c)
	}
}

func TestTunerDoesNotFlap(t *testing.T) {
	p := paperProfile(t)
	tn := NewTuner(p, Choice{R: 1, F: 256}, TunerConfig{})
	rng := rand.New(rand.NewPCG(1, 6))
	var now time.Duration
	changes := 0
	for range 300 {
		// About as many large ones that a larger F is worth nothing, give or take
		// what chance does.
		if _, ok := period(tn, &now, 1000, func() int {
			if rng.IntN(100) < 20+rng.IntN(6) {
				return 450
			}
			return 32
		}); ok {
			changes++
		}
	}
	if changes > 1 {
		t.Errorf("%d changes in 300 periods", changes)
	}
}

func TestTunerWaitsForTimeAndResults(t *testing.T) {
	p := paperProfile(t)
	tn := NewTuner(p, Choice{R: 5, F: 256}, TunerConfig{Period: time.Minute, Confirm: 1, Results: 100})
	record := func(n int) {
		for range n {
			tn.Sample().Result(300)
		}
	}
	if _, ok := tn.Decide(time.Hour); ok {
		t.Error("decided at the first call")
	}
	record(50)
	if _, ok := tn.Decide(time.Hour + 2*time.Minute); ok {
		t.Error("decided from 50 results")
	}
	record(50)
	if c, ok := tn.Decide(time.Hour + 2*time.Minute); !ok || c.F != 312 {
		t.Errorf("%+v, %v", c, ok)
	}
	record(200)
	if _, ok := tn.Decide(time.Hour + 2*time.Minute + time.Second); ok {
		t.Error("decided before the period was over")
	}
	for _, f := range []func(){
		func() { NewTuner(p, Choice{R: 0, F: 256}, TunerConfig{}) },
		func() { NewTuner(p, Choice{R: 1, F: 256}, TunerConfig{Gain: -1}) },
		func() { Evaluate(p, NewSample(), Choice{}) },
	} {
		if !panics(f) {
			t.Error("nonsense is accepted")
		}
	}
}

// The choice of a tuner is the one that Choose makes.
func TestTunerAgreesWithChoose(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 7))
		p := randomProfile(rng)
		tn := NewTuner(p, Choice{R: 1, F: 1}, TunerConfig{})
		_, s := randomApplication(rng, p)
		tn.sample = *s
		_, rows := Choose(p, s)
		if got, now := tn.best(); got != rows[0] || now != Evaluate(p, s, tn.Choice()) {
			t.Errorf("seed %d: %+v after %+v, want %+v", seed, got, now, rows[0])
		}
	}
}

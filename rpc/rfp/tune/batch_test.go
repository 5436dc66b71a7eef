package tune

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// curve is a server whose latency grows with the batch size: base + slope*size
// and noise with an exponential distribution.
type curve struct{ base, slope, noise float64 } // microseconds

func (c curve) latency(rng *rand.Rand, size int) time.Duration {
	us := c.base + c.slope*float64(size) + c.noise*rng.ExpFloat64()
	return time.Duration(us * 1e3)
}

// over is the true share of requests over the limit at a size.
func (c curve) over(limit time.Duration, size int) float64 {
	room := float64(limit)/1e3 - c.base - c.slope*float64(size)
	if room <= 0 {
		return 1
	}
	return math.Exp(-room / c.noise)
}

// best is the largest size that keeps the promise.
func (c curve) best(limit time.Duration, alpha float64) int {
	s := MaxBatch
	for s > 1 && c.over(limit, s) > alpha {
		s--
	}
	return s
}

// client sends batches, window of them on their way at a time.
type client struct {
	b      *Batch
	c      curve
	rng    *rand.Rand
	window int
	flight []int // sizes of batches on their way

	requests, over, sizes, batches int
}

func newClient(b *Batch, c curve, seed uint64, window int) *client {
	return &client{b: b, c: c, rng: rand.New(rand.NewPCG(seed, 1)), window: window}
}

// run completes n requests and returns the share over the limit, and the mean
// batch size.
func (cl *client) run(n int) (over, size float64) {
	cl.requests, cl.over, cl.sizes, cl.batches = 0, 0, 0, 0
	for cl.requests < n {
		for len(cl.flight) < cl.window {
			cl.flight = append(cl.flight, cl.b.Size())
		}
		cl.complete()
	}
	return float64(cl.over) / float64(cl.requests), float64(cl.sizes) / float64(cl.batches)
}

func (cl *client) complete() {
	size := cl.flight[0]
	cl.flight = cl.flight[1:]
	cl.batches++
	cl.sizes += size
	for range size {
		l := cl.c.latency(cl.rng, size)
		cl.requests++
		if l > cl.b.limit {
			cl.over++
		}
		if cl.window == 1 {
			cl.b.Observe(l)
		} else {
			cl.b.ObserveAt(l, size)
		}
	}
}

var curves = []curve{
	{5, 0.3, 0.05}, // a cliff: one size is perfect and the next impossible
	{5, 0.3, 0.5},
	{5, 0.3, 2},
	{2, 0.5, 1},
	{10, 0.05, 0.5}, // the largest size is good
	{1, 5, 1},       // hardly anything is
	{15, 0.01, 1.2}, // hardly any slope: noise decides
}

func TestBatchConverges(t *testing.T) {
	const limit = 20 * time.Microsecond
	for _, alpha := range []float64{0.05, 0.01} {
		for i, c := range curves {
			for _, start := range []int{1, MaxBatch} {
				for _, window := range []int{1, 8} {
					t.Run(fmt.Sprintf("alpha=%v/curve=%d/start=%d/window=%d", alpha, i, start, window), func(t *testing.T) {
						checkConverges(t, c, limit, alpha, start, window)
					})
				}
			}
		}
	}
}

func checkConverges(t *testing.T, c curve, limit time.Duration, alpha float64, start, window int) {
	// Where many sizes lie between half of the promise and all of it, only noise
	// tells them apart; then any of them will do.
	best := c.best(limit, alpha)
	least := min(0.8*float64(best), float64(c.best(limit, alpha/2))) - 1
	for seed := range uint64(2) {
		b := NewBatch(limit, alpha, start, MaxBatch)
		cl := newClient(b, c, seed, window)
		cl.run(MaxBatch * (b.epoch + 8*MaxBatch))
		over, size := cl.run(int(4_000 / alpha))
		t.Logf("seed %d: best %d (%.4f over, next %.4f), mean size %.1f, over %.5f", seed, best,
			c.over(limit, best), c.over(limit, best+1), size, over)
		if c.over(limit, 1) <= alpha && over > alpha {
			t.Errorf("seed %d: %.5f of the requests are over the limit, promised were %v", seed, over, alpha)
		}
		if size < least {
			t.Errorf("seed %d: mean size %.1f, though %d keeps the promise", seed, size, best)
		}
	}
}

func TestBatchFollowsChanges(t *testing.T) {
	const limit, alpha = 20 * time.Microsecond, 0.05
	quick, slow := curve{5, 0.2, 0.5}, curve{5, 0.6, 0.5}
	b := NewBatch(limit, alpha, 1, MaxBatch)
	cl := newClient(b, quick, 7, 4)
	settle := 2 * MaxBatch * b.epoch
	for i := range 6 {
		cl.c = quick
		if i%2 == 1 {
			cl.c = slow
		}
		cl.run(settle)
		over, size := cl.run(200_000)
		best := float64(cl.c.best(limit, alpha))
		if over > alpha || size < 0.8*best-1 || size > best+1 {
			t.Errorf("phase %d: mean size %.1f (best %.0f), %.4f over", i, size, best, over)
		}
	}
}

// A server that gets slower is noticed within as many requests as it takes to
// step down, not by waiting for whole epochs.
func TestBatchGoesDownFast(t *testing.T) {
	b := NewBatch(time.Millisecond, 0.01, MaxBatch, MaxBatch)
	n := 0
	for ; b.Size() > 1; n++ {
		b.Observe(time.Second)
	}
	// Each step takes what is on its way and the requests that lose an epoch.
	if most := MaxBatch * (MaxBatch + b.lost + 1); n > most {
		t.Errorf("%d requests from %d to 1, expected at most %d", n, MaxBatch, most)
	}
	for range 10 * b.epoch {
		b.Observe(time.Second)
	}
	if b.Size() != 1 {
		t.Errorf("size %d where nothing is quick enough", b.Size())
	}
	for range (2*MaxBatch + maxWait) * b.epoch * 2 {
		b.Observe(0)
	}
	if b.Size() != MaxBatch {
		t.Errorf("size %d where everything is quick", b.Size())
	}
}

// Equation (3) alone, to see that the test would notice it: at a cliff it
// spends half of the time on the wrong side.
func TestPlainEquationBreaksThePromise(t *testing.T) {
	const limit, alpha = 20 * time.Microsecond, 0.05
	c, rng := curves[0], rand.New(rand.NewPCG(1, 1))
	size, total, all := 40, 0, 0
	for range 2000 {
		over := 0
		const epoch = 320
		for range epoch {
			if c.latency(rng, size) > limit {
				over++
			}
		}
		total, all = total+over, all+epoch
		switch k := float64(over) / epoch; {
		case k > alpha:
			size--
		case k < 0.1*alpha:
			size++
		}
	}
	if share := float64(total) / float64(all); share < 3*alpha {
		t.Errorf("plain stepping keeps the promise: %.3f", share)
	}
}

func TestBatchDoesNotAllocate(t *testing.T) {
	b := NewBatch(20*time.Microsecond, 0.05, 1, MaxBatch)
	rng := rand.New(rand.NewPCG(1, 2))
	if n := testing.AllocsPerRun(10_000, func() {
		b.Observe(curves[1].latency(rng, b.Size()))
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestBatchRefusesNonsense(t *testing.T) {
	for _, f := range []func(){
		func() { NewBatch(0, 0.05, 1, 128) },
		func() { NewBatch(1, 0, 1, 128) },
		func() { NewBatch(1, 1, 1, 128) },
		func() { NewBatch(1, math.NaN(), 1, 128) },
		func() { NewBatch(1, 0.05, 0, 128) },
		func() { NewBatch(1, 0.05, 9, 8) },
		func() { NewBatch(1, 0.05, 1, 129) },
	} {
		if !panics(f) {
			t.Error("accepted")
		}
	}
}

func panics(f func()) (yes bool) {
	defer func() { yes = recover() != nil }()
	f()
	return false
}

// FuzzBatch: whatever latencies come, the size stays in bounds and moves by one
// (U7).
func FuzzBatch(f *testing.F) {
	f.Add([]byte{0, 255, 0, 0, 255, 3}, 0.05, uint8(1), uint8(128))
	f.Add([]byte{255}, 0.5, uint8(16), uint8(16))
	f.Fuzz(func(t *testing.T, shares []byte, alpha float64, start, most uint8) {
		if !(alpha > 1e-3 && alpha < 1) {
			t.Skip()
		}
		top := int(most)%MaxBatch + 1
		b := NewBatch(1, alpha, int(start)%top+1, top)
		rng := rand.New(rand.NewPCG(1, 3))
		for _, share := range shares[:min(len(shares), 32)] {
			for range min(b.epoch, 2000) {
				before := b.Size()
				latency := time.Duration(1)
				if rng.IntN(255) < int(share) {
					latency = 2
				}
				b.Observe(latency)
				if d := b.Size() - before; d < -1 || d > 1 || b.Size() < 1 || b.Size() > top {
					t.Fatalf("size %d after %d, most %d", b.Size(), before, top)
				}
			}
		}
	})
}

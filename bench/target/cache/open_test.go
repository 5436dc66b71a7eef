package cache

import (
	"context"
	"testing"
	"time"

	"github.com/remora-kv/remora/bench/load"

	"github.com/remora-kv/remora/internal/cycles"
)

// stallLane answers at once, but for one moment in which it does nothing for a while.
type stallLane struct {
	fakeLane
	scale   cycles.Scale
	after   time.Duration
	stall   time.Duration
	started uint64
	stalled bool
}

func (l *stallLane) get(slot int, key []byte) error {
	if l.started == 0 {
		l.started = cycles.Now()
	}
	return l.fakeLane.get(slot, key)
}

func (l *stallLane) hold() {
	if !l.stalled && cycles.Now()-l.started > l.scale.Ticks(l.after) {
		l.stalled = true
		for end := cycles.Now() + l.scale.Ticks(l.stall); cycles.Now() < end; {
		}
	}
}

func (l *stallLane) poll(d *driver) error {
	l.hold()
	return l.fakeLane.poll(d)
}

func (l *stallLane) drain(ctx context.Context, d *driver) error {
	l.hold()
	return l.fakeLane.drain(ctx, d)
}

// stalledRun measures a lane that stalls for 100 ms of 2 s.
func stalledRun(t *testing.T, rate float64) load.Tally {
	t.Helper()
	scale := cycles.Calibrate()
	l := &stallLane{fakeLane: fakeLane{most: 8}, scale: scale, after: 500 * time.Millisecond, stall: 100 * time.Millisecond}
	c := Case{KeySize: 16, ValueSize: 32, Window: 4, Batch: 2, Clients: 1, Rate: rate}
	mix := load.Mix{Keys: 50, GetPct: 100, Seed: 1}
	r := newRunner(Config{}, Env{}, nil)
	r.Scale = scale
	d := r.newPaced(l, &c, mix.Stream(0), 0)
	l.answer = func(slot int) ([]byte, error) { return right(d, slot) }
	sum, err := load.Run(t.Context(), []load.Worker{d}, load.Budget{Time: 2 * time.Second}, scale, nil)
	if err != nil || !l.stalled {
		t.Fatal(err, l.stalled)
	}
	return sum
}

// Of 2 s in which a server stands still for a twentieth, one operation in twenty begins
// then, and waits for what is left of it: the 99th percentile is four fifths of the stall. Who
// waits for answers before he asks again asks nothing then, and sees a handful of them.
func TestAStallIsSeenInAnOpenLoop(t *testing.T) {
	const rate = 20_000
	scale := cycles.Calibrate()
	open := stalledRun(t, rate)
	if open.Ops != 2*rate {
		t.Errorf("%d operations began in 2 s at %d a second", open.Ops, rate)
	}
	if l := open.Latencies(scale); l.P99 < 75e3 || l.Max < 99e3 {
		t.Errorf("p99 is %.0f us, the longest %.0f us; a stall of 100 ms makes a p99 of 80 ms at least", l.P99, l.Max)
	}
	closed := stalledRun(t, 0)
	if l := closed.Latencies(scale); l.Max < 99e3 {
		t.Errorf("the longest of %d operations took %.0f us, less than the stall of 100 ms", closed.Ops, l.Max)
	} else if l.P99 > 75e3 {
		t.Errorf("p99 of a closed loop is %.0f us", l.P99)
	}
	for name, sum := range map[string]load.Tally{"open": open, "closed": closed} {
		if n := stillest(sum.Timeline(scale)); n < 3 {
			t.Errorf("%s: of 100 ms without an answer the time line shows %d intervals of 20 ms", name, n)
		}
	}
}

// stillest is how many intervals in a row have next to nothing in them: what was on its way.
func stillest(l *load.Timeline) (most int) {
	run := 0
	for _, n := range l.Ops {
		if run++; n > 8 {
			run = 0
		}
		most = max(most, run)
	}
	return most
}

// Drivers take turns, and all that are to begin do.
func TestPace(t *testing.T) {
	scale := cycles.Calibrate()
	var all []uint64
	const drivers = 3
	for i := range drivers {
		p := newPace(3e5, i, drivers, scale)
		n := p.within(scale.Ticks(time.Millisecond))
		if n != 100 {
			t.Errorf("driver %d begins %d operations in a millisecond", i, n)
		}
		for k := range n {
			all = append(all, p.at(k))
		}
	}
	for k := range 100 {
		for i := range drivers {
			want := (float64(k) + float64(i)/drivers) * scale.PerSecond() / 1e5
			if got := float64(all[i*100+k]); got > want+1 || got < want-1 {
				t.Fatalf("operation %d of driver %d begins at %g, want %g", k, i, got, want)
			}
		}
	}
}

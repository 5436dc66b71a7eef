package bench

import (
	"fmt"
	"time"

	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/internal/cycles"
)

// Watch looks for what makes the rows of a run doubtful, of whatever benchmark: the clock, the
// CPUs, other processes, and trials that differ.
type Watch struct {
	remarks   *Remarks
	scale     cycles.Scale
	cpus      []int
	clock     host.ClockWatch
	throttled *int64 // before the run; nil: nobody knows

	// Rows whose mean does not fit their rate, that stood still, and that did because they share
	// their CPUs on purpose.
	apart, stalled, kept worst
}

// NewWatch begins to watch a run on CPUs (D4).
func NewWatch(r *Remarks, scale cycles.Scale, cpus []int) *Watch {
	w := &Watch{remarks: r, scale: scale, cpus: cpus, clock: host.WatchClock(scale)}
	r.Warn(host.LookAtClock(scale).Doubt())
	if n, err := host.Throttled(cpus); err == nil {
		w.throttled = &n
	}
	return w
}

// Doubt adds what makes a row doubtful, if anything does, to it and to the report.
func (w *Watch) Doubt(m *Measure, s string) {
	if s != "" {
		m.Warnings = append(m.Warnings, s)
		w.remarks.Warn(s)
	}
}

// Trial warns of what makes the row of a trial doubtful (D5, D8, D9, D11).
func (w *Watch) Trial(m *Measure, t *Trial) {
	spent := t.spent()
	w.remarks.spent.add(spent)
	w.Doubt(m, spent.doubt())
	w.Doubt(m, fewSamples(m))
	if !t.Open {
		w.Doubt(m, stillRising(m))
		w.little(m, t)
	}
	w.stalls(m, t)
	w.remarks.speeds.Add(w.speedOf(t.Place.Client))
	w.remarks.rate(t.Case, t.Title, !t.Place.Sharing.Own(), m.OpsPerSec)
}

// speedOf measures how fast the first CPU of the client is; 0: it may not be used.
func (w *Watch) speedOf(client []int) float64 {
	measured := make(chan float64, 1)
	go func() { // on a thread that ends with it, mask and all
		defer close(measured)
		if load.PinInTurn(client)(0) == nil {
			measured <- host.Speed(w.scale)
		}
	}()
	return <-measured
}

// End judges all trials together (D4, D8, D9, D10), and says on what machine they were.
func (w *Watch) End() {
	r := w.remarks
	r.Warn(w.clock.Doubt())
	r.Distrust(w.clock.Doubt())
	if n, err := host.Throttled(w.cpus); err == nil {
		r.Warn(heat(w.throttled, n))
		r.Distrust(heat(w.throttled, n))
	}
	r.Warn(w.apart.text)
	r.Warn(w.stalled.text)
	r.Warn(w.kept.text)
	r.Judge()
	r.NoteMachine()
}

const (
	// tailSamples is how many samples there must be for a percentile of 99.9: ten
	// beyond it.
	tailSamples = 10_000
	// rising is by how much the first third of a trial may be slower than the rest.
	rising = 0.1
	// disturbed is the share of a CPU that others may use in the time of a trial.
	disturbed = 0.1
	// minLook is the shortest time that can be judged by clocks of 10 ms.
	minLook = 300 * time.Millisecond
)

func fewSamples(m *Measure) string {
	if m.Samples >= tailSamples || m.P999 == 0 {
		return ""
	}
	return fmt.Sprintf("fewer than %d operations were timed in some rows: their p99.9 rests on a few; measure for longer (--duration)", tailSamples)
}

// stillRising looks whether a trial began before its throughput was what it was later. It says
// nothing where that went up and down afterwards, too.
func stillRising(m *Measure) string {
	const least = 9 // intervals that can be divided
	if m.Timeline == nil || len(m.Timeline.Ops) < least {
		return ""
	}
	ops := m.Timeline.Ops
	third := len(ops) / 3
	first, middle, last := meanOf(ops[:third]), meanOf(ops[third:2*third]), meanOf(ops[2*third:])
	low, high := min(middle, last), max(middle, last)
	if low < (1-rising)*high || first >= (1-rising)*low {
		return ""
	}
	return fmt.Sprintf("the warm-up was too short in some trials: their first third was more than %.0f %% slower than what followed (--warmup)", 100*rising)
}

func meanOf(ops []uint64) (sum float64) {
	for _, n := range ops {
		sum += float64(n)
	}
	return sum / float64(len(ops))
}

// heat warns where CPUs were throttled in the time of a run, after what was counted before it.
func heat(before *int64, after int64) string {
	if before == nil || *before == after {
		return ""
	}
	return fmt.Sprintf("the CPUs were slowed down %d times because of heat: let them cool, or limit their frequency, and measure again", after-*before)
}

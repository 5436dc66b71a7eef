package bench

import (
	"fmt"
	"math"
	"strconv"
)

// worst is the warning of the row that deserves one most: rows of a run say the same with other
// numbers.
type worst struct {
	text string
	by   float64
}

func (w *worst) take(text string, by float64) {
	if by > w.by {
		w.text, w.by = text, by
	}
}

const (
	// littleError is by how much mean x rate may differ from the operations in flight.
	littleError = 0.1
	// littleOps is how many operations there must be for each in flight: the first and the
	// last of a trial are in flight for a part of their time alone.
	littleOps = 100
	// littleClocks is how many readings of the clock the mean must be long.
	littleClocks = 10
	// standing is the share of a trial in which nothing may end.
	standing = 0.05
)

// little warns where the mean latency does not fit the rate (D13). In a closed loop their product
// is the number of operations in flight (Little's law), but for the time in which a caller
// makes the next one.
func (w *Watch) little(m *Measure, t *Trial) {
	n := float64(t.InFlight)
	short := m.Mean*1e3 < littleClocks*m.ClockNanos // the clock is a part of it
	if n == 0 || short || m.Samples == 0 || float64(m.Ops) < littleOps*n {
		return
	}
	making := 0.0
	if t.Alone > 0 && t.Callers > 0 {
		making = m.OpsPerSec / (t.Alone * float64(t.Callers))
	}
	share := m.Mean / 1e6 * m.OpsPerSec / n
	if share >= 1-littleError-making && share <= 1+littleError {
		return
	}
	why := "operations of some were not in flight all the time, and the mean does not say how long"
	switch {
	case m.TimedEvery > 1 && share < 1:
		why = fmt.Sprintf("one operation in %d was timed, and stalls lie between those: mean and tail are too small", m.TimedEvery)
	case m.TimedEvery > 1:
		why = fmt.Sprintf("one operation in %d was timed, and stalls met more of those than of others: mean and tail are too large", m.TimedEvery)
	case share > 1:
		why = "there were more in flight than asked for"
	}
	text := fmt.Sprintf("mean x rate is %s of the %d operations in flight (%s): %s; trust the rate, or measure for longer", times(share), t.InFlight, t.Title, why)
	m.Warnings = append(m.Warnings, text)
	w.apart.take(text, math.Abs(math.Log(share)))
}

// times writes a factor.
func times(x float64) string {
	if x >= 10 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 2, 64)
}

// stalls warns of a trial in which nothing ended for long (D14).
func (w *Watch) stalls(m *Measure, t *Trial) {
	if m.Timeline == nil {
		return
	}
	sum, longest, ok := m.Timeline.Stalls()
	share := sum / (m.Timeline.EveryMillis * float64(len(m.Timeline.Ops)))
	if !ok || share < standing {
		return
	}
	why, worst := "client or server did not run, or waited", &w.stalled
	if s := t.Place.Sharing; !s.Own() {
		why, worst = fmt.Sprintf("in the placement %v client and server wait for a CPU", s), &w.kept
	}
	text := fmt.Sprintf("nothing ended during %.0f %% of a trial, for up to %.3g ms at a stretch: %s", 100*share, longest, why)
	m.Warnings = append(m.Warnings, text)
	worst.take(text, share)
}

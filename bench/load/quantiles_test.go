package load

import (
	"math"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/remora-kv/remora/internal/cycles"
)

func TestQuantiles(t *testing.T) {
	scale := cycles.Calibrate()
	tally := Tally{hist: hdrhistogram.New(1, longest, 3)}
	if q := tally.Quantiles(scale); q != nil {
		t.Errorf("nothing was timed, and the quantiles are %v", q)
	}
	const n = 1_000_000
	for i := int64(1); i <= n; i++ {
		if err := tally.hist.RecordValue(i * 1000); err != nil {
			t.Fatal(err)
		}
	}
	tally.samples = n
	all := tally.Quantiles(scale)
	if len(all) < 50 || len(all) > 65 {
		t.Errorf("%d quantiles", len(all))
	}
	for i, q := range all {
		want := max(q[0]*n, 1) * 1000 * 1e6 / scale.PerSecond()
		if math.Abs(q[1]-want) > 0.002*want+0.001 {
			t.Errorf("of the share %v the latency is %v us, want %v", q[0], q[1], want)
		}
		if i > 0 && (q[0] <= all[i-1][0] || q[1] < all[i-1][1]) {
			t.Errorf("%v follows %v", q, all[i-1])
		}
	}
	if all[0][0] != 0 || all[len(all)-1][0] != 1 {
		t.Errorf("from %v to %v", all[0], all[len(all)-1])
	}
	for _, share := range []float64{0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999} {
		found := false
		for _, q := range all {
			found = found || q[0] == share
		}
		if !found {
			t.Errorf("the share %v is missing in %v", share, all)
		}
	}
}

// A quantile beyond which there is nothing would be the longest under another name.
func TestQuantilesOfAFew(t *testing.T) {
	scale := cycles.Calibrate()
	tally := Tally{hist: hdrhistogram.New(1, longest, 3)}
	for i := range int64(50) {
		_ = tally.hist.RecordValue(i + 1)
	}
	tally.samples = 50
	all := tally.Quantiles(scale)
	if last := all[len(all)-2]; last[0] >= 0.98 || last[0] < 0.9 {
		t.Errorf("of 50 operations the quantile before the last is %v", last)
	}
}

// Each of the latencies of a row is the one that its name says.
func TestLatencies(t *testing.T) {
	scale := cycles.Calibrate()
	tally := Tally{hist: hdrhistogram.New(1, longest, 3)}
	const n = 100_000
	for i := int64(1); i <= n; i++ {
		if err := tally.hist.RecordValue(i * 1000); err != nil {
			t.Fatal(err)
		}
	}
	tally.samples = n
	got := tally.Latencies(scale)
	for share, us := range map[float64]float64{0.5: got.P50, 0.95: got.P95, 0.99: got.P99, 0.999: got.P999, 1: got.Max} {
		want := share * n * 1000 * 1e6 / scale.PerSecond()
		if math.Abs(us-want) > 0.002*want {
			t.Errorf("the latency of the share %v is %v us, want %v", share, us, want)
		}
	}
	if got.Samples != n {
		t.Errorf("%d samples, want %d", got.Samples, n)
	}
}

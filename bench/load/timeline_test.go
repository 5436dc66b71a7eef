package load

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/remora-kv/remora/internal/cycles"
)

// counted are the intervals up to the last that is not empty.
func counted(h *history) []uint64 {
	last := len(h.ops)
	for last > 0 && h.ops[last-1] == 0 {
		last--
	}
	return h.ops[:last]
}

func TestHistoryHasStallsAsGaps(t *testing.T) {
	var h history
	h.begin(1000, 100)
	h.look(1050, 5) // within the first interval
	h.look(1099, 8)
	h.look(1100, 9) // at its end: the interval before had it
	h.look(1200, 19)
	h.look(1290, 28)
	h.look(1310, 30) // over the end of an interval: each has its part
	h.look(1400, 39)
	if got := counted(&h); !slices.Equal(got, []uint64{9, 10, 10, 10}) {
		t.Errorf("30 operations in three intervals are counted as %v", got)
	}
	h.look(1450, 40)
	h.look(1850, 40) // a stall
	h.look(1860, 47)
	if got := counted(&h); !slices.Equal(got, []uint64{9, 10, 10, 10, 1, 0, 0, 0, 7}) {
		t.Errorf("a stall is counted as %v", got)
	}
	h.look(2450, 57) // a worker that looks rarely stood still between two looks
	if got := counted(&h); !slices.Equal(got, []uint64{9, 10, 10, 10, 1, 0, 0, 0, 7, 0, 0, 0, 0, 0, 10}) {
		t.Errorf("a stall between two looks is counted as %v", got)
	}
}

// Operations that end in lumps, as those of a large window on a slow fabric, are no stalls; a
// silence that is several times as long as that between two lumps is one.
func TestHistoryOfLumpsHasNoGaps(t *testing.T) {
	var h history
	h.begin(0, 100)
	for lump := uint64(1); lump <= 20; lump++ {
		h.look(250*lump, 1000*lump)
		h.look(250*lump+1, 1000*lump) // nothing has ended since
	}
	got := counted(&h)
	if len(got) != 50 || slices.Min(got) < 350 || slices.Max(got) > 450 {
		t.Errorf("lumps of 1000 in 250 ticks are counted as %v", got)
	}
	h.look(7000, 21_000)
	if got := counted(&h)[50:70]; slices.Max(got) != 0 {
		t.Errorf("a stall of eight lumps is counted as %v", got)
	}
}

func TestHistoryOfALongRunHasLongerIntervals(t *testing.T) {
	var h history
	h.begin(0, 10)
	const ticks = 1_000_000
	for tick := uint64(1); tick <= ticks; tick++ {
		h.look(tick, tick)
	}
	if h.every != 10*1024 || len(counted(&h)) != ticks/(10*1024)+1 {
		t.Errorf("%d ticks are %d intervals of %d", ticks, len(counted(&h)), h.every)
	}
	sum := uint64(0)
	for i, n := range counted(&h) {
		sum += n
		if i < len(counted(&h))-1 && (n < h.every-2 || n > h.every+2) {
			t.Errorf("interval %d has %d operations, want one for each of %d ticks", i, n, h.every)
		}
	}
	if sum != ticks {
		t.Errorf("%d of %d operations are counted", sum, ticks)
	}
	h.look(100*ticks, ticks+1000) // a long silence
	if got := len(counted(&h)); got > mostIntervals || h.every*mostIntervals < 100*ticks {
		t.Errorf("%d intervals of %d ticks", got, h.every)
	}
}

// Workers whose intervals have different lengths are of one run all the same.
func TestHistoriesAddUp(t *testing.T) {
	for _, swap := range []bool{false, true} {
		var short, long history
		short.begin(0, 10)
		long.begin(0, 10)
		short.look(25, 25)
		long.look(10*mostIntervals, 10*mostIntervals) // one more than there is room for
		if swap {
			short, long = long, short
		}
		short.add(&long)
		if got := counted(&short)[:3]; short.every != 20 || got[0] != 40 || got[1] != 25 || got[2] != 20 {
			t.Errorf("every %d ticks: %v", short.every, got)
		}
	}
}

func TestTimeline(t *testing.T) {
	scale := cycles.Calibrate()
	steady := work(func(_ context.Context, m *Meter) error {
		for !m.Over() {
			m.Ops++
		}
		m.End()
		return nil
	})
	sum, err := Run(t.Context(), []Worker{steady, steady}, Budget{Time: 200 * time.Millisecond}, scale, nil)
	if err != nil {
		t.Fatal(err)
	}
	line := sum.Timeline(scale)
	if line == nil || line.EveryMillis < 1.99 || line.EveryMillis*float64(len(line.Ops)) < 190 || len(line.Ops) > mostIntervals {
		t.Fatalf("the time line of 200 ms is %+v", line)
	}
	all := uint64(0)
	for _, n := range line.Ops {
		all += n
	}
	if all > sum.Ops || all < sum.Ops/2 {
		t.Errorf("%d operations are on the time line, of %d", all, sum.Ops)
	}
	sum, err = Run(t.Context(), []Worker{work(func(_ context.Context, m *Meter) error {
		m.Ops = 1
		m.start, m.end = m.history.origin, m.history.origin+1 // as short as can be, however late it began
		return nil
	})}, Budget{Ops: 1}, scale, nil)
	if line := sum.Timeline(scale); err != nil || line != nil {
		t.Errorf("a run of no time has %+v, %v", line, err)
	}
}

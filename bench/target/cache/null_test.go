package cache

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/internal/cycles"
)

// nullCase is a load for the null server.
func nullCase(window, batch int) *Case {
	return &Case{Path: PathNull, GetPct: 95, Keys: 1000, KeySize: 16, ValueSize: 32, Clients: 1, Window: window, Batch: batch}
}

func nullDriver(t testing.TB, c *Case) (*driver, *nullLane) {
	t.Helper()
	l, err := newNullLane(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.memory.Free() })
	mix := c.mix(1)
	return newDriver(l, c, mix.Stream(0)), l
}

// C14: operations are in the memory that is shared, one after the other, and a window is no
// wider than it was asked for.
func TestNullLaneFillsFrames(t *testing.T) {
	_, l := nullDriver(t, nullCase(2, 2))
	key, value := []byte("a key of 16 byte"), bytes.Repeat([]byte{7}, 32)
	for i := range 4 {
		if err := l.put(i, key, value); err != nil {
			t.Fatalf("operation %d: %v", i, err)
		}
	}
	if err := l.get(4, key); !errors.Is(err, errFull) {
		t.Errorf("the fifth of four: %v", err)
	}
	const entry = nullHeader + 16 + 32
	for i := range 4 {
		e := l.memory.Bytes()[i*entry:][:entry]
		if want := append(append([]byte{byte(i), 0, 0, 0, entry, 0, 0, 0}, key...), value...); !bytes.Equal(e, want) {
			t.Errorf("entry %d is %q, want %q", i, e, want)
		}
	}
}

// Every load that others bear the null server bears too, frames that are not full included.
func TestNullServerBearsEveryLoad(t *testing.T) {
	for name, change := range map[string]func(*Case){
		"default":         func(*Case) {},
		"puts":            func(c *Case) { c.GetPct = 0 },
		"odd sizes":       func(c *Case) { c.KeySize, c.ValueSize = 5, 13 },
		"large values":    func(c *Case) { c.ValueSize = 1 << 16 },
		"largest frame":   func(c *Case) { c.ValueSize = framePayload },
		"long keys":       func(c *Case) { c.KeySize = 200 },
		"popular":         func(c *Case) { c.Dist, c.Theta = DistZipf, 0.99 },
		"modifies":        func(c *Case) { c.GetPct, c.RMWPct = 30, 40 },
		"latest":          func(c *Case) { c.GetPct, c.Dist, c.Theta = 50, DistLatest, 0.99 },
		"hotspot":         func(c *Case) { c.Dist, c.HotOps, c.HotKeys = DistHotspot, 80, 20 },
		"sizes":           func(c *Case) { c.KeyDist, c.ValueDist = "etc", "etc" },
		"window":          func(c *Case) { c.Window = 7 },
		"no full batches": func(c *Case) { c.Window, c.Batch = 3, 999 },
		"one at a time":   func(c *Case) { c.Batch = 1 },
	} {
		c := nullCase(1, 16)
		change(c)
		d, l := nullDriver(t, c)
		for run := range 3 {
			sum, err := load.Run(t.Context(), []load.Worker{d}, load.Budget{Ops: 1001, Every: 1}, cycles.Calibrate(), nil)
			if err != nil || sum.Ops != 1001 || sum.Misses+sum.Errors != 0 || l.used != 0 {
				t.Errorf("%s, run %d: %d operations, %d frames left, %v", name, run, sum.Ops, l.used, err)
			}
		}
	}
}

func TestNullServerAllocatesNothing(t *testing.T) {
	d, _ := nullDriver(t, nullCase(2, 16))
	d.meter = new(load.Meter)
	turn := func() {
		if err := d.fill(1 << 60); err != nil {
			t.Fatal(err)
		}
		if err := d.lane.drain(context.Background(), d); err != nil {
			t.Fatal(err)
		}
	}
	d.timed = 1 << 60 // none is timed
	if n := testing.AllocsPerRun(100, turn); n != 0 {
		t.Errorf("%v allocations for a batch", n)
	}
}

func BenchmarkGenerator(b *testing.B) {
	for name, dist := range map[string]float64{DistUniform: 0, DistZipf: 0.99} {
		b.Run(name, func(b *testing.B) {
			c := nullCase(1, 16)
			c.Keys, c.Dist, c.Theta = DefaultKeys, name, dist
			d, _ := nullDriver(b, c)
			_, err := load.Run(b.Context(), []load.Worker{d}, load.Budget{Ops: uint64(b.N), Every: load.SampleEvery}, cycles.Calibrate(), nil)
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}

package faults_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/fabrictest"
	"github.com/remora-kv/remora/fabric/faults"
	"github.com/remora-kv/remora/fabric/loop"
	"github.com/remora-kv/remora/test/scale"
)

// TestConformance: what is not struck keeps the contract, with all of the
// machinery in place and with none of it.
func TestConformance(t *testing.T) {
	for _, c := range []struct{ name, plan string }{
		{"armed", "ud.drop=0%; uc.delay=0%,1ms; ud.delay=0%,1ms; uc.reorder=0%; ud.reorder=0%; ud.dup=0%; rc.break=0%; rc.lose=0%"},
		{"empty", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			fabrictest.Run(t, func(tb testing.TB) *fabrictest.World { return wrappedWorld(tb, c.plan) })
		})
	}
}

// TestConformanceOfScattered: what is scattered keeps the contract of a device that promises no
// order, except that runs of lines are requests of their own: they are counted (G15), and those
// that are inside a region are placed though others are not (G7).
func TestConformanceOfScattered(t *testing.T) {
	plan := fmt.Sprintf("seed=%d; rc.shuffle=50%%; uc.shuffle=50%%; rc.replay=50%%", scale.Seed(t))
	world := func(tb testing.TB) *fabrictest.World { return wrappedWorld(tb, plan) }
	fabrictest.RunWith(t, world, fabrictest.Options{Without: []string{"G7", "G15"}})
}

func wrappedWorld(tb testing.TB, text string) *fabrictest.World {
	plan, err := faults.ParsePlan(text)
	if err != nil {
		tb.Fatal(err)
	}
	net := loop.NewNetwork()
	device := func(name string) *loop.Device {
		d, err := net.NewDevice(name)
		if err != nil {
			tb.Fatal(err)
		}
		return d
	}
	a, b := device("a"), device("b")
	var names atomic.Int64
	return &fabrictest.World{
		A: faults.Wrap(a, plan), B: faults.Wrap(b, plan),
		Listen: func() fabric.Addr {
			return fabric.Addr{Fabric: "loop", Name: fmt.Sprintf("x%d", names.Add(1))}
		},
		Kill:  b.Kill,
		Fresh: func() fabric.Device { return faults.Wrap(device("c"), plan) },
	}
}

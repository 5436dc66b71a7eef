package loop_test

import (
	"fmt"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/fabrictest"
	"github.com/remora-kv/remora/fabric/loop"
)

func newWorld(tb testing.TB) *fabrictest.World {
	net := loop.NewNetwork()
	device := func(name string) *loop.Device {
		d, err := net.NewDevice(name)
		if err != nil {
			tb.Fatal(err)
		}
		return d
	}
	names := 0
	b := device("b")
	return &fabrictest.World{
		A: device("a"), B: b,
		Listen: func() fabric.Addr {
			names++
			return fabric.Addr{Fabric: "loop", Name: fmt.Sprintf("listener%d", names)}
		},
		Kill:  b.Kill,
		Fresh: func() fabric.Device { return device("fresh") },
	}
}

func TestConformance(t *testing.T) { fabrictest.Run(t, newWorld) }

package fabrictest

import (
	"fmt"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/loop"
)

// loopWorld makes two loop devices. The whole suite runs on them in the tests
// of package loop; here they are what flaws are built into.
func loopWorld(tb testing.TB) *World {
	net := loop.NewNetwork()
	device := func(name string) *loop.Device {
		d, err := net.NewDevice(name)
		if err != nil {
			tb.Fatal(err)
		}
		return d
	}
	names, fresh := 0, 0
	b := device("b")
	return &World{
		A: device("a"), B: b,
		Listen: func() fabric.Addr {
			names++
			return fabric.Addr{Fabric: "loop", Name: fmt.Sprintf("listener%d", names)}
		},
		Kill: b.Kill,
		Fresh: func() fabric.Device {
			fresh++
			return device(fmt.Sprintf("fresh%d", fresh))
		},
	}
}

package fabrictest_test

import (
	"fmt"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/fabrictest"
	"github.com/remora-kv/remora/fabric/loop"
)

// A provider's own test says how to make two devices that reach each other.
func Example() {
	newWorld := func(tb testing.TB) *fabrictest.World {
		net := loop.NewNetwork()
		a, err := net.NewDevice("a")
		if err != nil {
			tb.Fatal(err)
		}
		b, err := net.NewDevice("b")
		if err != nil {
			tb.Fatal(err)
		}
		listeners := 0
		return &fabrictest.World{
			A: a, B: b,
			Listen: func() fabric.Addr {
				listeners++
				return fabric.Addr{Fabric: "loop", Name: fmt.Sprint(listeners)}
			},
			Kill: b.Kill,
		}
	}
	_ = func(t *testing.T) { fabrictest.Run(t, newWorld) } // TestConformance
	_ = func(t *testing.T) {                               // a long run at night
		fabrictest.RunWith(t, newWorld, fabrictest.Options{Iterations: 50})
	}
}

package loop_test

import (
	"fmt"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/fabrictest"
	"github.com/remora-kv/remora/fabric/loop"
)

// TestSides runs the two-sided suite between two goroutines, which know of each
// other only what they tell each other.
func TestSides(t *testing.T) {
	net := loop.NewNetwork()
	side := func(name string) fabrictest.Side {
		d, err := net.NewDevice(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.Close() })
		names := 0
		return fabrictest.Side{Device: d, Listen: func() fabric.Addr {
			names++
			return fabric.Addr{Fabric: "loop", Name: fmt.Sprintf("%s%d", name, names)}
		}}
	}
	fabrictest.RunBoth(t, side("server"), side("client"))
}

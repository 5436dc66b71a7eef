//go:build rdma

package verbs_test

import (
	"os"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/fabrictest"
	"github.com/remora-kv/remora/fabric/verbs"
)

// The tests run where an adapter is: in a guest with Soft-RoCE, or on a host
// with a NIC, which REMORA_RDMA_DEVICE chooses.
func testConfig() verbs.Config { return verbs.Config{Device: os.Getenv("REMORA_RDMA_DEVICE")} }

func newDevice(tb testing.TB) *verbs.Device {
	tb.Helper()
	d, err := verbs.New(testConfig())
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

func newWorld(tb testing.TB) *fabrictest.World {
	a, b := newDevice(tb), newDevice(tb)
	tb.Cleanup(func() { _, _ = a.Close(), b.Close() })
	return &fabrictest.World{
		A: a, B: b,
		Listen: func() fabric.Addr { return fabric.Addr{Fabric: "rdma", Name: "127.0.0.1:0"} },
		Kill:   b.Kill,
		Fresh:  func() fabric.Device { return newDevice(tb) },
	}
}

func TestConformance(t *testing.T) {
	d := newDevice(t)
	c := d.Choice()
	t.Logf("%s\nlimits %+v\nquirks %+v", &c, d.Limits(), d.Quirks())
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	fabrictest.RunWith(t, newWorld, fabrictest.Options{Watchdog: 90 * time.Second})
}

package shm_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/fabrictest"
)

// TestSides runs the cases for two peers in two processes.
func TestSides(t *testing.T) {
	fabrictest.RunProcesses(t, func(tb testing.TB) fabrictest.Side {
		d := newDevice(tb, "side")
		tb.Cleanup(func() { _ = d.Close() })
		dir, names := tb.TempDir(), 0
		return fabrictest.Side{Device: d, Listen: func() fabric.Addr {
			names++
			return fabric.Addr{Fabric: "shm", Name: filepath.Join(dir, fmt.Sprintf("s%d", names))}
		}}
	})
}

package tcp_test

import (
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/fabrictest"
)

// TestSides runs the cases for two peers in two processes.
func TestSides(t *testing.T) {
	fabrictest.RunProcesses(t, func(tb testing.TB) fabrictest.Side {
		d := device(tb, "side")
		tb.Cleanup(func() { _ = d.Close() })
		return fabrictest.Side{Device: d, Listen: func() fabric.Addr {
			return fabric.Addr{Fabric: "tcp", Name: "127.0.0.1:0"}
		}}
	})
}

package shm_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/fabrictest"
	"github.com/remora-kv/remora/fabric/shm"
)

func newDevice(tb testing.TB, name string) *shm.Device {
	tb.Helper()
	d, err := shm.New(shm.Config{Name: name})
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

func newWorld(tb testing.TB) *fabrictest.World {
	dir, names := tb.TempDir(), 0
	b := newDevice(tb, "b")
	return &fabrictest.World{
		A: newDevice(tb, "a"), B: b,
		Listen: func() fabric.Addr {
			names++
			return fabric.Addr{Fabric: "shm", Name: filepath.Join(dir, fmt.Sprintf("s%d", names))}
		},
		Kill:  b.Kill,
		Fresh: func() fabric.Device { return newDevice(tb, "fresh") },
	}
}

func TestConformance(t *testing.T) { fabrictest.Run(t, newWorld) }

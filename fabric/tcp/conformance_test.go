package tcp_test

import (
	"fmt"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/fabrictest"
	"github.com/remora-kv/remora/fabric/tcp"
)

func device(tb testing.TB, name string) *tcp.Device {
	tb.Helper()
	d, err := tcp.New(tcp.Config{Name: name, Host: "127.0.0.1"})
	if err != nil {
		tb.Fatal(err)
	}
	dev, ok := d.(*tcp.Device)
	if !ok {
		tb.Fatalf("New made a %T", d)
	}
	return dev
}

func world(host string) func(tb testing.TB) *fabrictest.World {
	return func(tb testing.TB) *fabrictest.World {
		a, b := device(tb, "a"), device(tb, "b")
		tb.Cleanup(func() { _, _ = a.Close(), b.Close() })
		fresh := 0
		return &fabrictest.World{
			A: a, B: b,
			Listen: func() fabric.Addr { return fabric.Addr{Fabric: "tcp", Name: host + ":0"} },
			Kill:   b.Kill,
			Fresh: func() fabric.Device {
				fresh++
				return device(tb, fmt.Sprintf("fresh%d", fresh))
			},
		}
	}
}

func TestConformance(t *testing.T) { fabrictest.Run(t, world("127.0.0.1")) }

package herd_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/herd"
)

func Example() {
	set := provider.New()
	device := func() fabric.Device { d, _ := set.Open(provider.Loop); return d }
	there, here := device(), device()
	defer func() { _, _ = there.Close(), here.Close() }()

	var mux rpc.Mux
	mux.Handle(1, func(c *rpc.Call, out []byte) ([]byte, error) {
		return append(out, strings.ToUpper(string(c.Request))...), nil
	})
	server, err := herd.NewServer(herd.ServerConfig{Devices: []fabric.Device{there}, Serve: mux.Serve})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = server.Close() }()
	addr, err := server.Listen(there, fabric.Addr{Fabric: "loop", Name: "example"}, fabric.ListenConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}

	conn, err := herd.Dial(context.Background(), addr, herd.ConnConfig{Device: here})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = conn.Close() }()
	core := conn.CoreConn(0)
	for _, word := range []string{"herd", "of", "requests"} {
		if err := core.Send(0, append([]byte{1, 0}, word...)); err != nil {
			fmt.Println(err)
			return
		}
	}
	for core.Outstanding() != 0 && conn.Wait(time.Minute) {
		if result, err, ok := core.Next(); ok {
			fmt.Println(string(result), err)
		}
	}
	// Output:
	// HERD <nil>
	// OF <nil>
	// REQUESTS <nil>
}

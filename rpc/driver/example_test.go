package driver_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/driver"
	"github.com/remora-kv/remora/rpc/rfp"
)

// Two goroutines call over one connection of rfp.
func Example() {
	set := provider.New()
	device := func() fabric.Device { d, _ := set.Open(provider.Loop); return d }
	var mux rpc.Mux
	mux.Handle(1, func(c *rpc.Call, out []byte) ([]byte, error) { return append(out, c.Request...), nil })
	server, err := rfp.NewServer(rfp.ServerConfig{Device: device(), Serve: mux.Serve})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = server.Close() }()
	addr, _ := server.Listen(fabric.Addr{Fabric: provider.Loop, Name: "echo"}, fabric.ListenConfig{})
	conn, err := rfp.Dial(context.Background(), addr, rfp.ConnConfig{Device: device()})
	if err != nil {
		fmt.Println(err)
		return
	}

	c := driver.New(conn.Driven())
	var wg sync.WaitGroup
	results := make([][]byte, 2)
	for i := range results {
		wg.Go(func() {
			results[i], _ = c.Call(context.Background(), &driver.Message{Proc: 1, Head: fmt.Append(nil, "call ", i)}, nil)
		})
	}
	wg.Wait()
	fmt.Printf("%s\n%s\n", results[0], results[1])
	fmt.Println(c.Close())
	// Output:
	// call 0
	// call 1
	// <nil>
}

package rfp_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/rfp"
)

// A server with one procedure, and a client that any number of goroutines may use.
func Example() {
	set := provider.New()
	device := func() fabric.Device { d, _ := set.Open(provider.Loop); return d }

	var mux rpc.Mux
	mux.Handle(1, func(c *rpc.Call, out []byte) ([]byte, error) {
		return append(out, strings.ToUpper(string(c.Request))...), nil
	})
	server, err := rfp.NewServer(rfp.ServerConfig{Device: device(), Serve: mux.Serve})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = server.Close() }()
	addr, _ := server.Listen(fabric.Addr{Fabric: provider.Loop, Name: "upper"}, fabric.ListenConfig{})

	client, err := rfp.DialClient(context.Background(), addr, rfp.ConnConfig{Device: device()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = client.Close() }()
	result, err := client.Call(context.Background(), 1, []byte("hello"), nil)
	fmt.Println(string(result), err)
	// Output: HELLO <nil>
}

// A connection belongs to one goroutine, which sees everything: batches, the
// window, and results in the order of the requests.
func ExampleConn() {
	set := provider.New()
	device := func() fabric.Device { d, _ := set.Open(provider.Loop); return d }
	server, err := rfp.NewServer(rfp.ServerConfig{
		Device: device(),
		Serve:  func(_ *rpc.Call, msg, out []byte) ([]byte, error) { return append(out, msg...), nil },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = server.Close() }()
	addr, _ := server.Listen(fabric.Addr{Fabric: provider.Loop, Name: "echo"}, fabric.ListenConfig{})

	conn, err := rfp.Dial(context.Background(), addr, rfp.ConnConfig{Device: device(), Batch: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = conn.Close() }()
	for i := range 4 {
		_ = conn.Send(0, fmt.Append(nil, "message ", i))
	}
	for conn.Outstanding() > 0 && conn.Wait(0) {
		data, _, _ := conn.Next()
		fmt.Println(string(data))
	}
	fmt.Println(conn.Stats().Frames, "frame")
	// Output:
	// message 0
	// message 1
	// message 2
	// message 3
	// 1 frame
}

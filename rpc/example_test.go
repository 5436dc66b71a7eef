package rpc_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/rfp"
)

// A Mux finds the handler of each request, on whatever path that came. A handler that fails with
// an *rpc.Error fails at the client with the same code.
func Example() {
	const greet, codeNobody = 1, rpc.CodeUser
	var mux rpc.Mux
	mux.Handle(greet, func(c *rpc.Call, out []byte) ([]byte, error) {
		if len(c.Request) == 0 {
			return out, &rpc.Error{Code: codeNobody, Text: "nobody to greet"}
		}
		return fmt.Appendf(out, "hello, %s", c.Request), nil
	})

	set := provider.New()
	device := func() fabric.Device { d, _ := set.Open(provider.Loop); return d }
	server, err := rfp.NewServer(rfp.ServerConfig{Device: device(), Serve: mux.Serve})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = server.Close() }()
	addr, _ := server.Listen(fabric.Addr{Fabric: provider.Loop, Name: "greeter"}, fabric.ListenConfig{})

	client, err := rfp.DialClient(context.Background(), addr, rfp.ConnConfig{Device: device()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = client.Close() }()
	result, err := client.Call(context.Background(), greet, []byte("Ada"), nil)
	fmt.Println(string(result), err)
	_, err = client.Call(context.Background(), greet, nil, nil)
	fmt.Println(errors.Is(err, &rpc.Error{Code: codeNobody}), err)
	// Output:
	// hello, Ada <nil>
	// true nobody to greet
}

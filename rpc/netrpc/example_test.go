package netrpc_test

import (
	"context"
	"fmt"
	netrpc "net/rpc"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/rpc"
	rfpnet "github.com/remora-kv/remora/rpc/netrpc"
	"github.com/remora-kv/remora/rpc/rfp"
)

func Example() {
	set := provider.New()
	device := func() fabric.Device { d, _ := set.Open(provider.Loop); return d }

	// The server of an existing program, with another way to listen.
	services := netrpc.NewServer()
	_ = services.Register(new(Arith))
	var mux rpc.Mux
	rfpnet.Handle(&mux, 1, services)
	server, err := rfp.NewServer(rfp.ServerConfig{Device: device(), Serve: mux.Serve})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = server.Close() }()
	addr, _ := server.Listen(fabric.Addr{Fabric: provider.Loop, Name: "arith"}, fabric.ListenConfig{})

	// Its client, with another way to dial.
	client, err := rfpnet.Dial(context.Background(), addr, 1, rfp.ConnConfig{Device: device()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = client.Close() }()
	var product int
	err = client.Call("Arith.Multiply", &Args{6, 7}, &product)
	fmt.Println(product, err)
	// Output: 42 <nil>
}

package netrpc_test

import (
	"context"
	"errors"
	"fmt"
	netrpc "net/rpc"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/rpc"
	rfpnet "github.com/remora-kv/remora/rpc/netrpc"
	"github.com/remora-kv/remora/rpc/rfp"
)

// Args and Arith are the service of net/rpc's own documentation.
type Args struct{ A, B int }

type Arith int

func (*Arith) Multiply(args *Args, reply *int) error {
	*reply = args.A * args.B
	return nil
}

func (*Arith) Divide(args *Args, reply *int) error {
	if args.B == 0 {
		return errors.New("divide by zero")
	}
	*reply = args.A / args.B
	return nil
}

// A program that uses net/rpc changes the lines that listen and dial.
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

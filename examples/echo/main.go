// Command echo is the smallest server and client of rfp.
//
//	go run ./examples/echo shm:/tmp/echo.sock          # serves until it is interrupted
//	go run ./examples/echo shm:/tmp/echo.sock hello    # calls
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/rfp"
)

const echo = 1 // the procedure

func main() {
	log.SetFlags(0)
	if len(os.Args) < 2 {
		log.Fatal("usage: echo ADDRESS [TEXT]")
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	addr, err := fabric.ParseAddr(os.Args[1])
	check(err)
	device, err := provider.New().Open(os.Args[1])
	check(err)
	if len(os.Args) > 2 {
		client, err := rfp.DialClient(ctx, addr, rfp.ConnConfig{Device: device, Core: rfp.AnyCore})
		check(err)
		result, err := client.Call(ctx, echo, []byte(os.Args[2]), nil)
		check(err)
		fmt.Printf("%s\n", result)
		return
	}
	var mux rpc.Mux
	mux.Handle(echo, func(c *rpc.Call, out []byte) ([]byte, error) { return append(out, c.Request...), nil })
	server, err := rfp.NewServer(rfp.ServerConfig{Device: device, Serve: mux.Serve})
	check(err)
	_, err = server.Listen(addr, fabric.ListenConfig{})
	check(err)
	log.Print("serving at ", addr)
	<-ctx.Done()
	check(server.Close())
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

package fabric_test

import (
	"context"
	"fmt"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/loop"
)

// A server offers 64 bytes, a client reads them. The server's program takes no
// part in the READ; on shm, tcp or verbs only the way to make the devices and
// the address differ.
func Example() {
	network := loop.NewNetwork()
	server, _ := network.NewDevice("server")
	client, _ := network.NewDevice("client")
	ctx := context.Background()

	// The server: memory that peers may read, and one connection.
	dom, _ := server.NewDomain()
	cq, _ := server.NewCQ(256)
	shelf, _ := dom.Alloc("shelf", 64, fabric.RemoteRead)
	copy(shelf.Bytes(), "hello, remora")
	addr, _ := fabric.ParseAddr("loop:shop")
	l, _ := server.Listen(addr, fabric.ListenConfig{})
	go func() {
		req, err := l.Accept(ctx)
		if err != nil {
			return
		}
		_, _ = req.Accept(ctx, fabric.QPConfig{Domain: dom, SendCQ: cq, RecvCQ: cq}, nil)
	}()

	// The client: a queue pair, a place for the data, one READ.
	cdom, _ := client.NewDomain()
	ccq, _ := client.NewCQ(256)
	buf, _ := cdom.Alloc("buffer", 64, 0)
	qp, err := client.Dial(ctx, addr, fabric.QPConfig{Domain: cdom, SendCQ: ccq, RecvCQ: ccq}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = qp.Post([]fabric.WR{{
		Op: fabric.OpRead, Flags: fabric.FlagSignaled,
		Local: buf.Seg(0, 13), Remote: shelf.Remote(), // told in private data in real life
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	waiter, _ := client.NewWaiter(fabric.WaitConfig{CQs: []fabric.CQ{ccq}})
	var done [1]fabric.Completion
	waiter.Wait(func() bool { return ccq.Poll(done[:]) == 1 }, 0)
	fmt.Println(done[0].Op, done[0].Status, string(buf.Bytes()[:13]))
	// Output: READ ok hello, remora
}

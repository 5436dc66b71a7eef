package tcp_test

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/tcp"
)

// A server shows a region to its clients, and does nothing more. A client reads
// it.
func Example() {
	ctx := context.Background()
	addr := make(chan fabric.Addr)
	go serve(ctx, addr)

	dev, dom, cq := open()
	defer func() { _ = dev.Close() }()
	qp, err := dev.Dial(ctx, <-addr, fabric.QPConfig{Domain: dom, SendCQ: cq, RecvCQ: cq}, nil)
	check(err)
	// Where the server's memory is came with the connection.
	remote := fabric.Remote{
		Addr: binary.LittleEndian.Uint64(qp.PeerPrivate()),
		Key:  binary.LittleEndian.Uint32(qp.PeerPrivate()[8:]),
	}
	mem, err := dom.Alloc("client", 4096, 0)
	check(err)
	_, err = qp.Post([]fabric.WR{{Op: fabric.OpRead, Local: mem.Seg(0, 5), Remote: remote, Flags: fabric.FlagSignaled}})
	check(err)
	w, err := dev.NewWaiter(fabric.WaitConfig{CQs: []fabric.CQ{cq}})
	check(err)
	var done [1]fabric.Completion
	w.Wait(func() bool { return cq.Poll(done[:]) == 1 }, 0)
	fmt.Printf("%v of %d bytes: %s\n", done[0].Op, done[0].Bytes, mem.Bytes()[:done[0].Bytes])
	// Output: READ of 5 bytes: hello
}

// open makes a device with a domain and a completion queue.
func open() (fabric.Device, fabric.Domain, fabric.CQ) {
	dev, err := tcp.New(tcp.Config{})
	check(err)
	dom, err := dev.NewDomain()
	check(err)
	cq, err := dev.NewCQ(256)
	check(err)
	return dev, dom, cq
}

// serve accepts one connection and waits for its end.
func serve(ctx context.Context, addr chan<- fabric.Addr) {
	dev, dom, cq := open()
	defer func() { _ = dev.Close() }()
	mem, err := dom.Alloc("server", 4096, fabric.RemoteRead)
	check(err)
	copy(mem.Bytes(), "hello")
	l, err := dev.Listen(fabric.Addr{Fabric: "tcp", Name: "127.0.0.1:0"}, fabric.ListenConfig{})
	check(err)
	addr <- l.Addr()
	r, err := l.Accept(ctx)
	check(err)
	private := binary.LittleEndian.AppendUint64(nil, mem.Remote().Addr)
	private = binary.LittleEndian.AppendUint32(private, mem.Remote().Key)
	qp, err := r.Accept(ctx, fabric.QPConfig{Transport: r.Transport(), Domain: dom, SendCQ: cq, RecvCQ: cq}, private)
	check(err)
	<-qp.Done()
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

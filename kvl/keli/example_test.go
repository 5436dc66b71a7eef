package keli_test

import (
	"context"
	"fmt"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/loop"
	"github.com/remora-kv/remora/kvl"
	"github.com/remora-kv/remora/kvl/keli"
)

// Ada is supervised by Kim, and Kim by nobody.
func university(cfg kvl.Config) (*kvl.Image, error) {
	b, err := kvl.NewBuilder(cfg)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	person, err := b.Name("person")
	if err != nil {
		return nil, err
	}
	supervisor, err := b.Name("supervisor")
	if err != nil {
		return nil, err
	}
	b.Begin(person, []byte("Ada"))
	b.Link(supervisor, []byte("Kim"))
	if err := b.End(); err != nil {
		return nil, err
	}
	b.Begin(person, []byte("Kim"))
	if err := b.End(); err != nil {
		return nil, err
	}
	return b.Seal(context.Background())
}

// A server publishes a generation. A client looks an item up by its key, which is a call,
// and reads the one behind its link by itself.
func Example() {
	network := loop.NewNetwork()
	here, err := network.NewDevice("here")
	if err != nil {
		panic(err)
	}
	there, err := network.NewDevice("there")
	if err != nil {
		panic(err)
	}
	defer func() { _, _ = here.Close(), there.Close() }()

	server, err := keli.NewServer(keli.Config{Device: there})
	if err != nil {
		panic(err)
	}
	defer func() { _ = server.Close() }()
	if err := server.Publish(university); err != nil {
		panic(err)
	}
	addr, err := server.Listen(fabric.Addr{Fabric: "loop", Name: "university"}, fabric.ListenConfig{})
	if err != nil {
		panic(err)
	}

	ctx := context.Background()
	client, err := keli.Dial(ctx, addr.String(), keli.WithDevice(here))
	if err != nil {
		panic(err)
	}
	defer func() { _ = client.Close() }()
	session, err := client.Session()
	if err != nil {
		panic(err)
	}
	defer func() { _ = session.Close() }()
	ada, err := session.Lookup(ctx, []byte("Ada"))
	if err != nil {
		panic(err)
	}
	supervisor, _ := session.Schema().Number("supervisor")
	link, _ := ada.Link(supervisor)
	who, err := session.Follow(ctx, link)
	if err != nil {
		panic(err)
	}
	fmt.Printf("Ada's supervisor is %s\n", who.Key())
	n := session.Counters()
	fmt.Printf("%d lookup, %d read\n", n.Lookups, n.Reads)
	// Output:
	// Ada's supervisor is Kim
	// 1 lookup, 1 read
}

package remora_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/server"
)

// startServer starts a server in this process, and returns its address, a device
// to reach it by, and what stops it.
func startServer() (url string, device fabric.Device, stop func()) {
	set := provider.New()
	srv, err := server.Start(server.Config{Listen: []string{"loop:example"}, Memory: 1 << 24, Cores: 2, Providers: set})
	if err != nil {
		panic(err)
	}
	device, err = set.Open("loop")
	if err != nil {
		panic(err)
	}
	return srv.Addrs()[0].String(), device, func() { _ = errors.Join(device.Close(), srv.Close()) }
}

// The first program. A server of another process needs no device.
func Example() {
	url, device, stop := startServer()
	defer stop()
	ctx := context.Background()

	client, err := remora.Dial(ctx, url, remora.WithDevice(device))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = client.Close() }()
	if _, err := client.Set(ctx, "greeting", []byte("hello"), time.Hour); err != nil {
		fmt.Println(err)
		return
	}
	value, err := client.Get(ctx, "greeting")
	fmt.Println(string(value), err)
	_, err = client.Get(ctx, "farewell")
	fmt.Println(errors.Is(err, remora.ErrNotFound))
	// Output:
	// hello <nil>
	// true
}

// A change that depends on what was there is made by CAS, and tried again when
// another client was quicker.
func ExampleClient_CAS() {
	url, device, stop := startServer()
	defer stop()
	ctx := context.Background()
	client, err := remora.Dial(ctx, url, remora.WithDevice(device))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = client.Close() }()

	_, _ = client.Set(ctx, "list", []byte("a"), 0)
	for {
		item, err := client.GetItem(ctx, "list")
		if err != nil {
			fmt.Println(err)
			return
		}
		_, err = client.CAS(ctx, "list", item, append(item.Value, " b"...), 0)
		if errors.Is(err, remora.ErrChanged) {
			continue
		}
		fmt.Println("changed:", err)
		break
	}
	value, _ := client.Get(ctx, "list")
	fmt.Println(string(value))
	// Output:
	// changed: <nil>
	// a b
}

// Many keys are got at once, from all cores of the server.
func ExampleClient_GetMulti() {
	url, device, stop := startServer()
	defer stop()
	ctx := context.Background()
	client, err := remora.Dial(ctx, url, remora.WithDevice(device))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = client.Close() }()

	for i := range 3 {
		_, _ = client.Set(ctx, fmt.Sprint("user ", i), fmt.Appendf(nil, "name %d", i), 0)
	}
	users, err := client.GetMulti(ctx, []string{"user 0", "user 2", "user 4"})
	fmt.Println(len(users), err)
	fmt.Println(string(users["user 2"].Value))
	// Output:
	// 2 <nil>
	// name 2
}

// A session has many operations in flight, here in frames of four.
func ExampleSession() {
	url, device, stop := startServer()
	defer stop()
	ctx := context.Background()
	client, err := remora.Dial(ctx, url, remora.WithDevice(device))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = client.Close() }()
	session, err := client.Session(ctx, remora.WithBatch(4))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = session.Close() }()

	for i := range uint64(8) {
		e := remora.Entry{Value: fmt.Appendf(nil, "value %d", i)}
		if err := session.StartPut(i, fmt.Sprint("key ", i), e, remora.Always()); err != nil {
			fmt.Println(err)
		}
	}
	stored := 0
	for session.Pending() > 0 {
		result, err := session.Next(ctx)
		if err != nil || result.Err != nil {
			fmt.Println(err, result.Err)
			return
		}
		stored++
	}
	value, err := session.Get(ctx, "key 5")
	fmt.Println(stored, string(value), err)
	// Output: 8 value 5 <nil>
}

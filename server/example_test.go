package server_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/server"
)

// A program can be the server of a cache for the other processes of its user, over shared memory.
// Here the client is in the same process.
func Example() {
	dir, err := os.MkdirTemp("", "remora")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	srv, err := server.Start(server.Config{Listen: []string{"shm:" + filepath.Join(dir, "cache.sock")}, Memory: 16 << 20})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = srv.Close() }()

	ctx := context.Background()
	client, err := remora.Dial(ctx, srv.Addrs()[0].String())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = client.Close() }()
	if _, err := client.Set(ctx, "greeting", []byte("hello"), 0); err != nil {
		fmt.Println(err)
		return
	}
	value, err := client.Get(ctx, "greeting")
	fmt.Println(string(value), err)
	// Output: hello <nil>
}

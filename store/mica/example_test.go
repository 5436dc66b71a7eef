package mica_test

import (
	"fmt"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/mica"
)

func ExampleNew() {
	const seed = store.Seed(12345) // a server draws it at its start
	table, err := mica.New(store.Config{Memory: 64 << 20, Seed: seed})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = table.Close() }()

	k := seed.Key([]byte("greeting"))
	version, _ := table.Put(k, store.Entry{Value: []byte("hello")}, store.IfAbsent(), 0)
	item, _ := table.Get(k, 0)
	fmt.Printf("%s, version %d\n", item.Value, item.Version)

	_, err = table.Put(k, store.Entry{Value: []byte("bye")}, store.IfVersion(version+1), 0)
	fmt.Println(err)
	// Output:
	// hello, version 1
	// store: the item has changed
}

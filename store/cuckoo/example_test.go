package cuckoo_test

import (
	"errors"
	"fmt"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/cuckoo"
)

// A cache of 1 MiB: put, get, change if nobody else did, expire.
func Example() {
	const seed store.Seed = 42 // a server draws it at its start
	table, err := cuckoo.New(store.Config{Memory: 1 << 20, Seed: seed})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer table.Close()

	now := int64(1_000) // milliseconds; the table asks no clock
	k := seed.Key([]byte("colour"))
	version, _ := table.Put(k, store.Entry{Value: []byte("green"), Expires: now + 500}, store.Always(), now)
	item, _ := table.Get(k, now)
	fmt.Printf("%s, version %d\n", item.Value, item.Version)

	_, err = table.Put(k, store.Entry{Value: []byte("blue")}, store.IfVersion(version+1), now)
	fmt.Println(errors.Is(err, store.ErrVersion))

	_, err = table.Get(k, now+500)
	fmt.Println(errors.Is(err, store.ErrNotFound))
	// Output:
	// green, version 1
	// true
	// true
}

package sharedlru_test

import (
	"fmt"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/sharedlru"
)

// Every core has a handle of the one table.
func Example() {
	table, err := sharedlru.New(store.Config{Memory: 1 << 20}, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	one, other := table.Handle(0), table.Handle(1)
	k := store.Seed(0).Key([]byte("greeting"))
	if _, err := one.Put(k, store.Entry{Value: []byte("hello")}, store.Always(), 0); err != nil {
		fmt.Println(err)
	}
	item, err := other.Get(k, 0)
	fmt.Printf("%s %v\n", item.Value, err)
	fmt.Println(one.Close(), other.Close())
	// Output:
	// hello <nil>
	// <nil> <nil>
}

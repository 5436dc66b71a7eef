package store_test

import (
	"fmt"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/lru8"
)

// A server has a partition for each core. The hash of a key says which.
func ExamplePartitionOf() {
	const seed store.Seed = 42
	var cores [4]store.Partition
	for i := range cores {
		p, err := lru8.New(store.Config{Memory: 1 << 20, Seed: seed})
		if err != nil {
			fmt.Println(err)
			return
		}
		defer p.Close()
		cores[i] = p
	}
	for _, name := range []string{"red", "green", "blue"} {
		k := seed.Key([]byte(name))
		core := cores[store.PartitionOf(k.Hash, len(cores))]
		if _, err := core.Put(k, store.Entry{Value: []byte("a colour")}, store.IfAbsent(), 0); err != nil {
			fmt.Println(err)
		}
	}
	k := seed.Key([]byte("green"))
	item, err := cores[store.PartitionOf(k.Hash, len(cores))].Get(k, 0)
	fmt.Printf("%s %v\n", item.Value, err)
	// Output: a colour <nil>
}

// A counter is an item whose value is a decimal number.
func ExampleIncr() {
	p, err := lru8.New(store.Config{Memory: 1 << 20})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	k := store.Seed(0).Key([]byte("visits"))
	if _, err := p.Put(k, store.Entry{Value: []byte("41")}, store.Always(), 0); err != nil {
		fmt.Println(err)
	}
	var scratch [store.CounterSize]byte
	sum, version, err := store.Incr(p, k, 1, 0, scratch[:])
	fmt.Println(sum, version, err)
	// Output: 42 2 <nil>
}

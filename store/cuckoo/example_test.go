package cuckoo_test

import (
	"bytes"
	"fmt"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/cuckoo"
)

// A client proves by one READ of a bucket that a key is missing.
func Example() {
	table, err := cuckoo.New(store.Config{Memory: 1 << 20})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer table.Close()

	export := table.Export()
	finder, err := cuckoo.NewFinder(export.Layout)
	if err != nil {
		fmt.Println(err)
		return
	}
	span := finder.Start(store.Seed(0).Key([]byte("colour")))
	b := bytes.Clone(export.Areas[span.Area].Bytes()[span.Off:][:span.Len]) // a client READs it
	_, outcome := finder.Look(b)
	fmt.Println(len(b), outcome == store.Missing)
	// Output: 32 true
}

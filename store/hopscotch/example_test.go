package hopscotch_test

import (
	"bytes"
	"fmt"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/hopscotch"
)

// A client finds an item without the server: it reads what the Finder asks for, here in
// memory of the same process.
func Example() {
	const seed store.Seed = 42 // a server draws it at its start
	table, err := hopscotch.New(store.Config{Memory: 1 << 20, Seed: seed})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer table.Close()
	k := seed.Key([]byte("colour"))
	if _, err := table.Put(k, store.Entry{Value: []byte("green")}, store.Always(), 0); err != nil {
		fmt.Println(err)
		return
	}

	export := table.Export()
	finder, err := hopscotch.NewFinder(export.Layout)
	if err != nil {
		fmt.Println(err)
		return
	}
	span, outcome := finder.Start(k), store.More
	for reads := 1; outcome == store.More; reads++ {
		b := bytes.Clone(export.Areas[span.Area].Bytes()[span.Off:][:span.Len]) // a client READs it
		if span, outcome = finder.Look(b); outcome == store.Found {
			item := finder.Item()
			fmt.Printf("%s, version %d, by %d READ\n", item.Value, item.Version, reads)
		}
	}
	// Output:
	// green, version 1, by 1 READ
}

package slots_test

import (
	"fmt"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/slots"
)

// A client finds an item without the server: it reads what the Finder asks for.
func Example() {
	table, err := slots.New(store.Config{Memory: 1 << 20})
	if err != nil {
		panic(err)
	}
	defer table.Close()
	k := store.Seed(1).Key([]byte("greeting"))
	if _, err := table.Put(k, store.Entry{Value: []byte("hello")}, store.Always(), 0); err != nil {
		panic(err)
	}

	export := table.Export()
	finder, err := slots.NewFinder(export.Layout)
	if err != nil {
		panic(err)
	}
	span, outcome := finder.Start(k), store.More
	for outcome == store.More {
		// A fabric would read this.
		read := export.Areas[span.Area].Bytes()[span.Off:][:span.Len]
		span, outcome = finder.Look(read)
	}
	fmt.Printf("%s\n", finder.Item().Value)
	// Output: hello
}

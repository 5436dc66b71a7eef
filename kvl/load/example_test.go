package load_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/remora-kv/remora/kvl"
	"github.com/remora-kv/remora/kvl/load"
)

// An edge list becomes items with two lists of links each.
func Example() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "followers.csv")
	if err := os.WriteFile(file, []byte("ann,bob\nann,eve\neve,ann\n"), 0o600); err != nil {
		log.Panic(err)
	}

	src, err := load.Open(file)
	if err != nil {
		log.Panic(err)
	}
	defer src.Close()
	b, err := kvl.NewBuilder(kvl.Config{Generation: 1})
	if err != nil {
		log.Panic(err)
	}
	defer b.Close()
	ctx := context.Background()
	report, err := load.Load(ctx, src, nil, b, nil)
	if err != nil {
		log.Panic(err)
	}
	image, err := b.Seal(ctx)
	if err != nil {
		log.Panic(err)
	}
	defer image.Close()
	fmt.Println(report.Rows, "edges between", image.Stats().Items, "items")

	to, _ := image.Schema().Number("to")
	at, _ := image.Lookup([]byte("ann"))
	ann, err := image.Item(at)
	if err != nil {
		log.Panic(err)
	}
	follows, _ := ann.List(to)
	for l := range image.Links(follows) {
		item, err := image.Item(l)
		if err != nil {
			log.Panic(err)
		}
		fmt.Printf("ann follows %s\n", item.Key())
	}
	// Output:
	// 3 edges between 3 items
	// ann follows bob
	// ann follows eve
}

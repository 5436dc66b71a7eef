package driver_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/remora-kv/remora/rpc/driver"
)

// Two goroutines call over one connection.
func Example() {
	c := driver.New(&echo{window: 2})
	var wg sync.WaitGroup
	results := make([][]byte, 2)
	for i := range results {
		wg.Go(func() {
			results[i], _ = c.Call(context.Background(), &driver.Message{Head: fmt.Append(nil, "call ", i)}, nil)
		})
	}
	wg.Wait()
	fmt.Printf("%s\n%s\n", results[0], results[1])
	fmt.Println(c.Close())
	// Output:
	// call 0
	// call 1
	// <nil>
}

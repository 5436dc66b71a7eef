package cache_test

import (
	"context"
	"fmt"

	"github.com/remora-kv/remora/bench/target/cache"
	"github.com/remora-kv/remora/fabric/provider"
)

// Measuring in one process. Other fabrics than loop need Env.Server, the command
// line of a process that calls Serve.
func ExampleRun() {
	cfg := cache.Config{
		Fabrics: []string{"loop"}, Keys: 1000, Dists: []string{cache.DistZipf}, Ops: 2000, Windows: []int{4}, Memory: 64 << 20,
	}
	report, err := cache.Run(context.Background(), cfg, cache.Env{Providers: provider.New()})
	if err != nil {
		fmt.Println(err)
		return
	}
	row := report.Rows[0]
	fmt.Println(row.Path, row.Engine, row.Fabric, row.Ops, "operations,", row.Misses, "misses,", row.Errors, "errors")
	// Output: rfp mica loop 2000 operations, 0 misses, 0 errors
}

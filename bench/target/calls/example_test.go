package calls_test

import (
	"context"
	"fmt"

	"github.com/remora-kv/remora/bench/target/calls"
	"github.com/remora-kv/remora/fabric/provider"
)

// Measuring calls in one process. Other fabrics than loop need Env.Server, the
// command line of a process that calls Serve.
func ExampleRun() {
	cfg := calls.Config{Fabric: "loop", Ops: 1000, Windows: []int{4}}
	report, err := calls.Run(context.Background(), cfg, calls.Env{Providers: provider.New()})
	if err != nil {
		fmt.Println(err)
		return
	}
	row := report.Rows[0]
	fmt.Println(row.Path, row.Fabric, row.Size, "bytes,", row.Ops, "calls,", row.Errors, "errors")
	// Output: rfp loop 32 bytes, 1000 calls, 0 errors
}

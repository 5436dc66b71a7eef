package verbs_test

import (
	"context"
	"fmt"

	"github.com/remora-kv/remora/bench/target/verbs"
	"github.com/remora-kv/remora/fabric/provider"
)

// Measuring READs in one process. Other fabrics than loop need Env.Server, the
// command line of a process that calls Serve.
func ExampleRun() {
	cfg := verbs.Config{Tests: []string{"read"}, Fabric: "loop", Ops: 1000}
	report, err := verbs.Run(context.Background(), cfg, verbs.Env{Providers: provider.New()})
	if err != nil {
		fmt.Println(err)
		return
	}
	row := report.Rows[0]
	fmt.Println(row.Test, row.Fabric, row.Size, "bytes,", row.Ops, "operations")
	// Output: read loop 64 bytes, 1000 operations
}

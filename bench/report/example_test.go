package report_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/report"
	"github.com/remora-kv/remora/bench/target/cache"
)

func ExampleReport_Write() {
	dir, err := os.MkdirTemp("", "report")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	r := report.Report[cache.Row]{
		Command: []string{"remora", "bench", "--path", "rfp,redis"},
		Rows: []cache.Row{
			{Path: "rfp", Measure: bench.Measure{OpsPerSec: 1e6, P50: 0.95, P99: 1.2, Trial: 1}},
			{Path: "redis", Measure: bench.Measure{OpsPerSec: 11e3, P50: 88, P99: 210, Trial: 1}},
		},
	}
	if err := r.Write(dir); err != nil {
		fmt.Println(err)
		return
	}
	names, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, name := range names {
		fmt.Println(filepath.Base(name))
	}
	// Output:
	// fig-latency.png
	// fig-latency.svg
	// fig-throughput.png
	// fig-throughput.svg
	// index.html
	// rows.csv
	// rows.json
}

package figures_test

import (
	"fmt"

	"github.com/remora-kv/remora/bench/figures"
)

func ExamplePlan() {
	for _, f := range figures.Plan(2) {
		fmt.Printf("%d: %s, %d points\n", f.Number, f.Title, len(f.Points))
	}
	// Output:
	// 2: Latency of verbs and of an ECHO, 32 points
	// 3: In-bound rate by verb and transport, 32 points
	// 4: Out-bound rate by verb and transport, 40 points
	// 5: ECHO rate, 32 bytes, 12 points
	// 6: All-to-all rate, 32 bytes, 15 points
	// 7: Effect of prefetching on the rate of an ECHO, 10 points
}

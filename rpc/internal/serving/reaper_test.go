package serving_test

import (
	"sync"
	"testing"

	"github.com/remora-kv/remora/rpc/internal/serving"
)

// Everything is freed once, by one goroutine, and nothing is left after Close.
func TestReaper(t *testing.T) {
	const givers, each = 4, 500
	freed := make([]int, givers*each) // without a lock: the race detector sees two who free
	r := serving.NewReaper(func(i int) { freed[i]++ })
	var wg sync.WaitGroup
	for g := range givers {
		wg.Go(func() {
			for i := range each {
				r.Take(g*each + i)
			}
		})
	}
	wg.Wait()
	r.Close()
	for i, n := range freed {
		if n != 1 {
			t.Fatalf("%d was freed %d times", i, n)
		}
	}
}

package tune_test

import (
	"fmt"
	"time"

	"github.com/remora-kv/remora/rpc/rfp/tune"
)

// Results of 300 bytes and a server that is quick: one READ brings each.
func ExampleChoose() {
	profile, err := tune.NewProfile("example", []tune.Reading{
		{Size: 256, Reads: 11e6, ReadTime: 1500 * time.Nanosecond, Replies: 2e6},
		{Size: 512, Reads: 8e6, ReadTime: 1600 * time.Nanosecond, Replies: 2e6},
		{Size: 1024, Reads: 5e6, ReadTime: 1800 * time.Nanosecond, Replies: 2e6},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	sample := tune.NewSample()
	for range 1000 {
		sample.Result(300)
		sample.Process(700 * time.Nanosecond)
	}
	choice, rows := tune.Choose(profile, sample)
	fmt.Printf("R %d, F %d: %.1f READs for a result\n", choice.R, choice.F, rows[0].Reads)
	// Output: R 1, F 312: 1.0 READs for a result
}

// A client that adapts its batches: at most 5 % of the requests may take longer
// than 50 microseconds.
func ExampleBatch() {
	batch := tune.NewBatch(50*time.Microsecond, 0.05, 1, tune.MaxBatch)
	for range 100_000 {
		// Here every request of a batch adds half a microsecond.
		batch.Observe(10*time.Microsecond + time.Duration(batch.Size())*500*time.Nanosecond)
	}
	fmt.Println(batch.Size())
	// Output: 80
}

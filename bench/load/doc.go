// Package load drives the workers of a benchmark: threads or goroutines that
// begin together, work in a closed loop until their budget is used up, and have a
// meter each.
//
//	L1  Workers begin when all are pinned, and a run lasts from the first
//	    beginning to the last end.
//	L2  Latencies are in ticks of the time-stamp counter, in a histogram for each
//	    worker, which are added up at the end: nothing is shared while it runs.
//	L3  Where operations are short one in SampleEvery is timed, at random
//	    distances, so that no place in a batch is preferred.
//	L4  When one worker fails all stop, and its error is that of the run.
//	L5  Throughput over time costs nothing for an operation: a worker counts when it
//	    looks at the clock anyway, and what it has done since its last look is spread
//	    evenly over the time since. Intervals are those of the run, not of a worker.
package load

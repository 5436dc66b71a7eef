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
package load

// Package load makes the operations of a benchmark's clients (Mix, Stream, Trace) with their keys
// and values, and runs and measures the work of these clients (Run, Meter, Tally).
//
// # Runs
//
// Workers are threads or goroutines that begin together, work until their budget is used up,
// and have a meter each.
//
//	L1  Workers begin when all are pinned, and a run lasts from the first beginning to the
//	    last end.
//	L2  Latencies are in ticks of the time-stamp counter, in a histogram for each worker,
//	    which are added up at the end: nothing is shared while it runs.
//	L3  Where operations are short one in SampleEvery is timed, at random distances, so that
//	    no place in a batch is preferred.
//	L4  When one worker fails all stop, and its error is that of the run.
//	L5  Throughput over time costs nothing for an operation: a worker counts when it looks at
//	    the clock anyway, as at the end of each operation that is timed. Mostly that is more
//	    often than intervals end while operations do: then an interval without any is a stall.
//	    Where many operations are known to have ended at once, as in a large window on a slow
//	    fabric, they are spread over the time since the last that were, unless that is several
//	    times as long as usual. Intervals are those of the run, not of a worker.
//	L6  An operation that is timed stands for those that ended since the last one. Stalls of
//	    milliseconds are rare and lie between those that are timed, or happen to meet one that
//	    stands for many: so each is found by the time since the last that was timed, far
//	    longer than usual, and counts once for each operation that was in flight. That holds
//	    where one in SampleEvery is timed; otherwise each is timed itself.
//
// # Operations
//
//	W1  Keys, ranks and values are computed and not kept in tables, so that a hundred million
//	    keys take no memory and the CPU caches hold what those of an application would.
//	W2  A stream is a function of the seed and of the number of its worker: the same two make
//	    the same operations.
//	W3  Keys and values, and their sizes, are functions of the index of a key alone (a value
//	    also of a stamp), and not of the seed: whoever loads and whoever gets agree.
//	W4  Ranks are scattered over the indexes by a permutation: the most popular keys do not
//	    lie side by side in memory because they were stored one after the other, and no two
//	    ranks share a key.
//	W5  Every word of a value that is checked identifies its key and the put that wrote it. The
//	    check finds a value that is cut, that belongs to another key, or that mixes two puts.
//	W6  Workers that insert keys have a class of them each, and draw none before it was
//	    stored: no two insert the same, and no get of a key that was never there is a miss.
//
// Zipf gives rank k, from 1, the probability k^-theta / zeta(n, theta), exactly: by
// rejection-inversion (Hörmann and Derflinger, 1996), which needs no sum over all ranks, unlike
// the method of Gray et al. that YCSB uses, and takes any theta above 0. A draw takes some
// 50 ns, a uniform one 7. Latest is Zipf over how recently a key was inserted, as YCSB has it,
// with the same exact probabilities while their number grows. Hotspot has two classes of keys,
// each uniform. A scan is what a cache must survive: it touches every key once before it
// touches one again.
//
// # Traces
//
// A Trace reads operations of a cache from a file, line by line:
//
//	# comments and empty lines are skipped, and so is a first line that begins with "op,"
//	op,key,size,ttl
//	get,user:17,120
//	set,user:17,120,3600
//	del,user:17
//
// op is get, set or del. key has 1 to 65535 bytes without spaces, control characters, commas and
// quotes. size is that of the value in bytes: a set must have one, and a get may, for the put
// after a miss. ttl is in whole seconds; 0 or an empty field means none. A file whose name ends in
// .gz is decompressed.
//
//	T1  A file is streamed: what is held of it is one buffer.
//	T2  Each of n readers has the lines whose key's hash leaves its number when divided by n:
//	    every line is done by exactly one of them, all of a key by the same, in the order of
//	    the file.
//	T3  A line that is not understood is an error that names file and line.
package load

// Package bench measures targets: it runs the trials of all of them in the same way and turns
// each trial into a row. A target (the cache, calls, verbs, items with links) is a package of its
// own. Package load makes the operations, package host runs processes and pins threads, and
// package out writes what was measured.
//
// # Terms
//
//   - A Config says what is measured; its lists make one case for every combination. A case
//     has every parameter fixed. It belongs to the target, as does the row.
//   - A Target is one case with its server and its clients.
//   - A trial is one measurement of a case, which makes one row. All rows embed a Measure.
//   - A Group is cases whose trials are interleaved, so that what slows the machine for a
//     while slows all alike. In each round all cases are measured once.
//   - A worker does the operations of a trial (load.Worker): a pinned thread, or a goroutine.
//
// # Who runs where
//
//	client process                           server process
//	+----------------------------+   JSON    +----------------------------+
//	| Runner    orders  ---------+--stdin--->| Serve                      |
//	|           <--answers-------+--stdout---+                            |
//	| worker 0  connections  <---+--fabric---+->  core 0                  |
//	| worker 1  connections  <---+--fabric---+->  core 1                  |
//	+----------------------------+           +----------------------------+
//
// The server is a second process (package host says how it starts and ends), one for a case or,
// in a Fresh group, one for each trial. On the loop fabric, which has only one process, it is a
// goroutine that speaks the same protocol. Workers and cores are pinned to different CPUs where
// there are enough.
//
// # A trial
//
//	E1  The servers of a group are started, connected and filled before its first trial;
//	    those of a Fresh group before each, and ended after it. What the placement of a case
//	    asks for (host.Press) begins when its server has started, and ends after it. Where a
//	    group has several servers up at a time it begins and ends with each trial instead,
//	    so that nothing is beside a case but what its own placement asks for.
//	E2  The collector runs before a trial, and not during it where the target says so.
//	E3  Workers warm up before the first trial with a server, which says how long an operation
//	    takes. If that is less than TimedAll, one operation in 16 is timed, so that reading the
//	    clock does not count; otherwise, and without a warm-up, all are.
//	E4  Counters are read before and after a trial. Their difference, divided by the operations,
//	    is what one operation takes.
//	E5  CPU times come from the kernel: those of the workers' threads or, if workers are not
//	    threads, of their process. On loop the server has the rest of the process.
//	E6  A case that fails ends the run, with its title before the error, unless Missing says
//	    that it may be left out. The rows measured until then are kept.
//
// # What a report says of itself
//
// A Watch looks for what makes rows doubtful, whatever the target, and adds it to the Remarks of
// the report. A warning concerns some rows. The verdict, which comes first, says why the whole
// report is not to be trusted:
//
//	V1  Other processes used, or the hypervisor took, more than a tenth of a CPU in the time
//	    of all trials together, of those CPUs that client and server use. What is known of
//	    one trial of 100 ms in steps of 10 ms says little; of all of them it says enough.
//	V2  In half of the cases or more, the trials differ by more than a quarter.
//	V3  The counter that times are read from differed from the clock of the system, or CPUs
//	    were throttled.
//
// # Latency and rate
//
//	D13 In a closed loop, mean latency times rate equals the operations in flight (Little's
//	    law), less those waiting for bench to generate the next one (Alone). A row in which
//	    they differ by more than a tenth has a warning with the numbers. Where nobody knows
//	    how many are in flight (InFlight is 0) there is none.
//	D14 Intervals of the time line without operations, before others that have some, are
//	    stalls; a row says so in which they are more than a twentieth of the trial. Where
//	    operations are fewer than twenty in an interval this says nothing.
//	D15 The maximum (max_us) is that of all operations, or is not there: where one in 16 was
//	    timed, the longest of those is no maximum.
//
// # Adding a target
//
// A target gives its case and its row, the fields of its Config and the columns of its table,
// and about a page of code:
//
//	Conditions the CPUs, the operations in flight, and what else the engine must know
//	Start      starts the server (StartPeer, or a program of others) and connects
//	Workers    makes those that do the operations
//	Counters   what the server and the fabric have counted until now
//	Row        the row of a trial
//	Blame      adds what a dead server said to the error that its death caused
//	Close      ends what Start and Workers began
//
// and, where the server is a process of this program, a Server with Setup, Counts, Hide and
// Close. The innermost loops belong to the worker: the engine calls it once for each trial.
//
// # Statistics
//
//	S1  The standard deviation is that of a sample: divided by n-1.
//	S2  The confidence interval is mean +- t s/sqrt(n), with t from Student's distribution of
//	    n-1 degrees of freedom: with few trials s itself is a guess, and 1.96 would promise too
//	    much.
//	S3  One trial has a mean and nothing else. Its deviation and intervals are empty, and N
//	    says why.
//	S4  Tables and figures show the median with a bootstrap interval: 95 % of the medians of
//	    rounds that are drawn again from the measured ones lie in it. It mostly covers the true
//	    median less often. Of up to five rounds it is the full range, which covers it in 50, 75,
//	    88 and 94 % of cases with two, three, four and five rounds; with more it is 87 to 97 % (Coverage).
//	S5  A ratio is that of the two medians beside it, not the mean of the ratios of rounds, which
//	    one stalled round of the baseline makes arbitrarily large.
package bench

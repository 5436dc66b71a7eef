// Package bench measures: it runs the trials of any target in the same way and turns each
// into a row. What is measured is a target, in a package of its own; where its load comes from
// is package load, what it runs on package host, how it is shown package out.
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
// The server is a second process, started for a case and ended after it (package host says
// how). On the loop fabric, which has only one process, it is a goroutine that speaks the same
// protocol. Workers and cores are pinned to different CPUs where there are enough.
//
// # A trial
//
//	E1  The servers of a group are started, connected and filled before its first trial;
//	    those of a Fresh group before each, and ended after it. What the placement of a case
//	    asks for (host.Press) begins when its server has started, and ends after it.
//	E2  The collector runs before a trial, and not during it where the target says so.
//	E3  Before the first trial with a server the workers warm up. How long an operation took
//	    then decides whether all are timed: one in 16 where reading the clock would count.
//	E4  What both sides have used until now (Counters) is read before and after: their
//	    difference, divided by the operations, is what one takes.
//	E5  CPU times come from the kernel. Workers that are threads are charged each; of others the
//	    whole process is. On loop the server has used what the workers have not.
//	E6  A case that fails ends the run, with its title before the error, unless Missing says
//	    that it may be left out. The rows measured until then are kept.
//
// # What a report says of itself
//
// A Watch looks for what makes rows doubtful, whatever the target, and the Remarks of a report
// have it. A warning is about some rows. The verdict, which stands before everything else, says
// that the whole report is not to be trusted, and why:
//
//	V1  Other processes used, or the hypervisor took, more than a tenth of a CPU in the time
//	    of all trials together, of those CPUs that client and server use. What is known of
//	    one trial of 100 ms in steps of 10 ms says little; of all of them it says enough.
//	V2  The trials of every second case differ by more than a quarter.
//	V3  The counter that times are read from differed from the clock of the system, or CPUs
//	    were throttled.
//
// # Latency and rate
//
//	D13 In a closed loop mean latency times rate is the number of operations in flight (Little),
//	    less what callers need to make the next one (Alone). A row where it is not, by more
//	    than a tenth, says so with the numbers.
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
//	Start      starts the server (Start, or a program of others) and connects
//	Workers    makes those that do the operations
//	Counters   what the server and the fabric have counted until now
//	Row        the row of a trial
//	Close      ends both
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
//	S4  Tables and figures show the median, with the interval in which it lies with 95 %
//	    confidence if rounds are drawn again from those that were measured (bootstrap). Of up to
//	    five rounds that is from the least to the most: no more is known.
//	S5  A ratio is that of the medians beside it. The mean of the ratios of rounds is not: one
//	    round in which the base stood still makes it as large as you like.
package bench

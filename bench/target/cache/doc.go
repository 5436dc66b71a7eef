// Package cache measures a key-value cache: how many gets and puts in a second,
// how long each takes, and what it costs in verbs and CPU; of Remora, and of
// memcached and Redis beside it. It is the library behind `remora bench cache`.
//
// # Terms
//
//   - The server of a case is a path of Remora over a fabric with an engine, memcached,
//     or Redis. Target, case, trial and row are those of package bench.
//   - A lane is a connection with what is on its way over it. A driver is a thread
//     that has one lane, fills it and drains it: a client. With Goroutines a client
//     is shared by so many callers.
//
// The server is started for every trial and loaded with all keys. Drivers and its cores are
// pinned to different CPUs. Goroutines are not: their process has as many threads as the
// client has CPUs.
//
// # What is measured, and what it costs
//
//	C1  Closed loop: a driver keeps window x batch operations in flight, of
//	    every target. To memcached and Redis that is the number of requests sent
//	    before the answer to the first of them was read.
//	C2  The latency of an operation is from before it is started until its result
//	    was returned: in a batch that includes waiting for the batch to fill. With
//	    goroutines it is the time of the client's Get or Set.
//	C3  Time is the time-stamp counter. A timed operation includes one reading,
//	    whose cost is in every row (clock_ns). Where a thread does one in less than
//	    ten microseconds, one in 16 is timed, at random distances.
//	C4  Making an operation and checking its result is part of the loop, for all
//	    targets alike (package load); what it takes is shown by C14.
//	C5  Every value that is got is checked. A wrong one is an error and no row.
//	    A get that finds nothing is a miss; what the server refuses is an error. With
//	    Fill the next operation of its client is a put of the key.
//	C6  Verbs are those posted by both sides, as their devices count them, in the
//	    time of a trial.
//	C7  CPU is what the kernel has charged in the time of a trial, in percent of
//	    one CPU: to the drivers, or with goroutines to the client process; and to
//	    the server process, seen from outside, in steps of 10 ms. On loop the server
//	    has what the drivers have not.
//	C8  Trials are interleaved: the first of every target that bears the same load,
//	    then the second. Each begins with a fresh server, so that none works while
//	    another is measured.
//	C9  Servers are what users run. Nothing is switched off in them; in the client
//	    the garbage collector is on too, for the clients of others need it.
//	C10 Unless it is given, the first READ (F) of a session is of the size that
//	    brings the whole answer of a batch, which is what tuning comes to for
//	    values of one size; where they are of many, 19 answers of 20. It is the default of
//	    rfp for a client that goroutines share, whose batches are of all sizes, and for
//	    values that do not fit a frame of 2 KiB.
//	C11 The memory of a share of the keys (Caches) is found by storing them all and
//	    counting what stays, with the engine, links and cores of the case.
//	C12 A row tells the window that the server has granted.
//	C13 With a rate, which is that of all clients together, the loop is open: operations are
//	    due at even distances (not at random ones, as in a Poisson process), whether or not
//	    others have ended. Latency counts from when an operation was due, and all that were due
//	    in the time of a trial are done. All are timed.
//	C14 The path null measures the generator: what a client thread does for an operation
//	    where the server and the way to it cost nothing. That is drawing the operation,
//	    making its key and value, the loop with window and batch, putting operations into
//	    frames in memory of the kind that shm shares, reading them there, and timing and
//	    checking results. The values that gets find are made on the same thread, which
//	    other paths do not do. It is not: a lookup, the client of a path, a verb or system
//	    call, cache lines that move from one core to another, nor moving values of more
//	    than 2 KiB. With goroutines there are no frames.
//	C15 A row has the throughput over the time of its trial, counted where drivers look
//	    at the clock anyway, and quantiles of all its latencies; both in a bounded number
//	    of points.
//	C16 A read-modify-write is one operation, as in YCSB: its latency is from before its
//	    get until its put was answered. The get counts among the gets, and if it misses
//	    the put follows nevertheless.
//	C17 A trace is replayed: each client has the lines of its keys, in their order, and
//	    reads the file itself, lines of others included, which is part of the loop. A value
//	    says which key it belongs to, so that gets are checked; its length is not known. What
//	    was deleted or has expired is a miss. Nothing is stored before.
//	C18 Clients that are processes (Processes) connect, warm up, begin and end at the word
//	    of this one, which opens the server, stores the keys and adds up. By time, all of
//	    them work before the first begins to measure and until the last has: each measures
//	    its own time by its own clock, in which all others work, and the rate is the sum of
//	    theirs. With Ops each does just those, and the rate is of all in the time of the
//	    longest. Histograms are added, and verbs are those of all operations between the
//	    two looks at the server, divided by as many. One that ends early ends the trial.
//	C19 With Agents these processes are on other machines, and are told the same over TCP
//	    (package host). Clocks of machines are not compared: times are differences of one
//	    clock, and ticks of another counter are turned into those of this one.
//
//	C20 A placement (Placements) begins when the server has the keys and ends with the trial:
//	    storing them takes no longer because of it. Clients connect and warm up under it. What
//	    each is says package host.
//
// # What it distrusts
//
// A warning is in the report and, where it is about one row, in that row; `--strict` makes
// it a failure. Each says what to do.
//
//	D1  Client and server share a CPU, or more threads than CPUs share them.
//	D2  A CPU of the client and one of the server are hyper-threads of one core.
//	D3  A server that was running (Server) is on this host: by shm, or at one of its
//	    addresses. Its CPUs are not known here.
//	D4  The clock goes in steps of more than 100 ns, a reading takes more than 100 ns, the
//	    CPU does not promise a constant rate, or over the run the counter and the clock
//	    of the system differ by more than 1 %.
//	D5  Fewer than 10,000 operations of a trial were timed: ten lie behind its p99.9.
//	D6  The generator was the bottleneck: a client thread did more than half of what the
//	    generator does alone (C14) with the same load, which is measured once for every
//	    kind of load, on one thread, in 30 ms, while no server runs. NoGenerator leaves
//	    it out, and for a trace there is none.
//	D7  The client was the bottleneck: its threads used 95 % of their CPUs and more, and the
//	    server less than 90 % of its. That can be told only of clients that sleep while
//	    they wait: those of sockets, unless they poll; and only where nothing else keeps
//	    the server from its CPUs: in the placement own.
//	D8  Other processes, or the hypervisor, used more than a tenth of a CPU in a trial. The
//	    neighbours of a placement are none of these.
//	D9  The client's CPU was more than 10 % slower behind one trial than behind another,
//	    or the kernel counts that CPUs were throttled.
//	D10 The trials of a case differ by more than 10 % (largest less smallest, by the median).
//	D11 The first third of a closed loop was more than 10 % slower than the others, which
//	    are alike: the warm-up was too short.
//	D12 Operations were refused, or missed without Fill.
package cache

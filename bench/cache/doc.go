// Package cache measures a key-value cache: how many gets and puts in a second,
// how long each takes, and what it costs in verbs and CPU; of Remora, and of
// memcached and Redis beside it. It is the library behind `remora bench`.
//
// # Terms
//
//   - A target is a server that is measured, and the way to it: a path of Remora
//     over a fabric with an engine, memcached, or Redis.
//   - A Case is a target with a load, every parameter fixed. It is measured one or
//     more times (trials), each of which is a Row.
//   - A lane is a connection with what is on its way over it. A driver is a thread
//     that has one lane, fills it and drains it: a client. With Goroutines a client
//     is shared by so many callers.
//
// # Who runs where
//
//	client process                             server process
//	+-----------------------------+            +--------------------------+
//	| measurement   commands -----+--stdin---->| host: package server     |
//	|               <--answers----+--stdout----+                          |
//	| driver 0: Session    <------+--fabric----+->  core 0                |
//	| driver 1: Session    <------+--fabric----+->  core 1                |
//	+-----------------------------+            +--------------------------+
//	| driver 0: pipeline   <------+--socket----+->  memcached or Redis    |
//	+-----------------------------+            +--------------------------+
//
// The server is a second process, started for every trial and loaded with all
// keys; it dies with its client (packages child and foreign). On the loop fabric
// it is a goroutine. Drivers and the server's cores are pinned to different CPUs.
// Goroutines are not: their process has as many threads as the client has CPUs.
//
// # What is measured, and what it costs
//
//	C1  Closed loop: a driver keeps window x batch operations on their way, of
//	    every target. To memcached and Redis that is the number of requests sent
//	    before the answer to the first of them was read.
//	C2  The latency of an operation is from before it is started until its result
//	    was returned: in a batch that includes waiting for the batch to fill. With
//	    goroutines it is the time of the client's Get or Set.
//	C3  Time is the time-stamp counter. A timed operation includes one reading,
//	    whose cost is in every row (clock_ns). Where a thread does one in less than
//	    ten microseconds, one in 16 is timed, at random distances.
//	C4  Making an operation and checking its result is part of the loop, for all
//	    targets alike (package workload): about 30 ns with uniform keys, 80 with
//	    Zipf.
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
//	    values of one size. A client that goroutines share has its default, for
//	    its batches are of all sizes.
//	C11 The memory of a share of the keys (Caches) is found by storing them all and
//	    counting what stays, with the engine, links and cores of the case.
//	C12 A row tells the window that the server has granted.
package cache

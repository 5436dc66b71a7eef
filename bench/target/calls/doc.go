// Package calls measures calls: how many a server answers over a path of package
// rpc, how long each takes, and what it costs in verbs and CPU. It is the
// library behind `remora bench rpc`.
//
// # Terms
//
// Target, case, trial and row are those of package bench.
//
//   - A lane is one connection that is used, with what is on its way over it. A
//     driver is a thread that has one lane or more, which it fills and drains in
//     turn. With Goroutines a lane is an rfp.Client with so many callers.
//   - Further connections (Connected) are made and left alone.
//   - The server has a handler that spins for the process time and returns its argument, cut
//     or filled up to the size of a result.
//
// Drivers and cores are pinned to different CPUs; goroutines cannot be.
//
// # What is measured, and what it costs
//
//	C1  The latency of a call is from before Send, which appends it to a frame,
//	    until Next has returned its result: in a batch it includes waiting for
//	    the batch to fill. With goroutines it is the time of Call.
//	C2  Time is the time-stamp counter. A timed call includes one reading, whose
//	    cost is in every row (clock_ns). Where a driver makes a call in less than
//	    a microsecond one in 16 is timed, at random distances, so that no place
//	    in a batch is preferred.
//	C3  A lane is kept full: Send until the window is, take the results that are
//	    there, and again. A driver of one lane waits in Conn.Wait, one of several
//	    polls them in turn and never sleeps.
//	C4  Verbs are those posted by both sides, as their devices count them, in the
//	    time of a trial: a push is a WRITE of the server.
//	C5  CPU is what the kernel has charged in the time of a trial, in percent of
//	    one CPU: to the drivers, or with goroutines to the client process; and to
//	    the server process. On loop the server has what the drivers have not.
//	C6  The collector is off in both processes: a call allocates nothing.
//	C7  Every result is checked: its length, and where both messages have 8
//	    bytes the number that the call began with. A wrong one is an error and
//	    no row; a failure that the server reports is counted.
//	C8  Unless it is given, the first READ (F) is of the size that brings the
//	    whole answer of a batch, which is what tuning comes to for results of
//	    one size.
package calls

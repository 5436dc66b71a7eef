// Package verbs measures a fabric: latency and rate of each verb, in-bound and
// out-bound, echoed in the ways that key-value systems use, and against what
// the machine could do without any fabric. It is the library behind
// `remora bench verbs`.
//
// # Terms
//
//   - A test is an entry of the catalogue (Tests). Target, case, trial and row are those of
//     package bench.
//   - A lane is one queue pair with its memory. An end is what one thread owns:
//     a completion queue, a waiter, and its lanes. A side is all ends of one
//     process.
//   - A program is what the thread of an end does: the pump posts one kind of
//     operation, the sink posts receives again, the caller and the responder
//     echo.
//   - A search is what the server of an echo may be asked to do before it answers:
//     a number of random memory accesses.
//   - The limit is the same exchange by plain loads and stores.
//
// Both processes have a side, as package bench has a client and a server: thread i of one is
// an end with lanes to the ends of the other. In an out-bound test the server issues the
// operations. Each thread is locked and pinned, client and server to different CPUs
// unless the placement of the case says otherwise.
//
// # What is measured, and what it costs
//
//	M1  An operation of a verb test ends when its completion is known: polled,
//	    or covered by a later one (G10). A call ends when its reply is seen.
//	M2  Work requests are built before the run and posted in chains; what
//	    several completions free is posted again as one chain. Nothing is
//	    allocated during a run.
//	M3  Time is the time-stamp counter. A timed operation includes one reading,
//	    whose cost is in every row (clock_ns); recording it comes after. Where
//	    an operation takes less than a microsecond one in 16 is timed, so that
//	    the rate is not that of the clock. With a window the latency of one
//	    operation in flight at a time is taken, from before its post.
//	M4  The collector is off in both processes during a case: there is nothing
//	    to collect, and it would be the runtime that is measured.
//	M5  A loop polls directly and enters a fabric.Waiter only when nothing has
//	    come for some time, so a busy pair of threads never sleeps and an idle
//	    server does. What is polled in memory cannot wake anybody (G17); the
//	    bell does (see bell).
//	M6  What arrived is checked: READ and WRITE by pattern, FETCH_ADD by sum,
//	    echoes by sequence number, searches by what they found. A test that moved the wrong bytes is an
//	    error and no row.
//	M7  UC and UD may lose messages. A call without a reply in 100 ms is given
//	    up, counted as lost and made again.
//
// # Echoes
//
// A message is right-aligned in a slot of whole cache lines and ends in an
// eight-byte sequence number. As a WRITE becomes visible in address order, its
// last byte last (G2), and words are not torn (G5), who sees the number sees
// the message. Requests of one client arrive in order, so the server looks only
// at the slot of the next one. Over RC a reply is sent from the request itself:
// it stays until the client, which has the reply, overwrites it. Where messages
// can be lost the client may have given the request up and be writing the next
// one, so that a copy is sent, under the number that was seen. Where the server
// searches, the eight bytes before the number are what it searches for and, in
// the reply, what it found; that is sent from memory of its own, too.
//
// Replies of echo-ws can be datagrams while requests are connected (HERD). Then a
// lane has a second queue pair for them, and both report to the same end.
//
// # Why not otherwise
//
// Rates come from the client's completions and not from the counters of the
// fabric, because those of a remote device lag behind (G15). Every case has a
// fresh server: a second more for the whole suite, and no case depends on the
// one before it.
package verbs

// Package text serves clients that speak lines over plain TCP: GET, SET, DEL and
// QUIT, by hand or by a program without any library of ours. docs/protocol.md has the
// grammar.
//
// # Terms
//
// A listener is one event loop (epoll) with any number of connections, and a mailbox
// for every core. A command is parsed, sent to the core that owns its
// key, and answered when its result has come back. A window is how many commands of a
// connection are with cores at a time. What was answered and not yet taken by the client's
// socket is its backlog.
//
// # Invariants
//
//	D1  One goroutine does everything: it owns all connections, and there is no lock, and
//	    nothing is allocated for a command, once buffers have grown to what the clients
//	    use.
//	D2  Every command has one answer, and the answers of a connection come in the order
//	    of its commands, whichever cores they go to.
//	D3  A connection that does not read is not read either: no command is taken while its
//	    backlog, and what is expected of commands in flight, is more than Backlog. If it
//	    takes nothing for as long as Stall it is cut off, and the log says why.
//	D4  Input is bounded: a line by MaxLine, a value by the server's limit, and memory
//	    grows with what has come, not with what was announced.
//	D5  What cannot be understood is answered with what would be. If it is not known where
//	    the next command begins, that answer is the last, and arrives though the client
//	    still sends.
//	D6  The loop does not sleep while a result waits, nor a core while a command does
//	    (M4).
//
// # Mailboxes
//
// A core owns a partition, and no other thread may touch that. It polls its mailbox (rpc.Poller)
// beside its sessions. A message is a place in the mailbox: a request, and later its result.
// Messages are a ring, with three counters, each of which one side writes:
//
//	      taken            served            posted
//	        |                |                 |
//	--------+----------------+-----------------+---------
//	  free  | results, for   | requests, for   |  free
//	        | the loop       | the core        |
//
// Requests and results are those of internal/command, as clients of a fabric send and
// get them: a core needs no other handler, and a listener no other codec.
//
//	M1  A message belongs to the loop until it is posted, to the core until it is served,
//	    and to the loop again until it is taken and the next one is asked for.
//	M2  Results come in the order of the requests of the same mailbox. Between mailboxes
//	    there is no order.
//	M3  No call takes a lock, and none allocates for requests and results of up to
//	    keepMessage bytes, once the ring has gone round. The memory of longer ones is freed.
//	M4  A request that was posted is served though the core was about to sleep, and a
//	    result is noticed though the loop was: each side says that it sleeps before it
//	    looks once more, and looks whether the other sleeps after it has published.
//	M5  Results that were not taken have at most maxUntaken bytes together, and that of one
//	    request more: then the core serves others first.
//
// # Why an event loop
//
// This is the baseline of the RDMA Cache Prototype, which is a loop over poll(2) so that it
// is comparable with a network server of quality. A goroutine for each connection would
// also have to take turns at a mailbox, which is for one.
//
// The loop waits in the kernel for sockets, which no Waiter of a fabric knows; results end
// its sleep by an eventfd. While commands are in flight it first looks for results for a
// moment, for a core that is awake needs less than a system call takes.
//
// # Threads
//
// The methods of Listener may be called from any goroutine. The exported methods of a mailbox
// are the core's, the others the loop's.
package text

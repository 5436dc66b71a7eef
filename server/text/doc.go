// Package text serves clients that speak a line protocol over plain TCP: GET, SET, DEL and
// QUIT, typed by hand or sent by a program without a client library. docs/protocol.md has the
// grammar.
//
// # Terms
//
// A listener is one event loop (epoll) with any number of connections, and a mailbox for every
// core. The loop parses a command, sends it to the core that owns its key, and answers it when
// the result has arrived. The window is how many commands of a connection cores may process at a
// time. The backlog is the answers that the client's socket has not taken.
//
// # Invariants
//
//	D1  One goroutine owns all connections. It takes no lock, and allocates nothing for a
//	    command once buffers have grown to the sizes that the clients use.
//	D2  Every command has one answer, and the answers of a connection come in the order
//	    of its commands, whichever cores serve them.
//	D3  A connection that does not read is not read either: no command is taken while its
//	    backlog, and what results of commands in flight may have, is more than Backlog. A
//	    result that is longer stays with the core, and is asked for again when it is the next
//	    and the backlog is empty: a connection owes Backlog and one result at most. If it
//	    takes nothing for as long as Stall it is cut off, and the log says why.
//	D4  Input is bounded: a line by MaxLine, a value by the server's limit, and what unfinished
//	    commands have together by Uploads: a connection whose command is longer than its buffer
//	    reserves all of it, and is not read until it can. Memory grows with the bytes received,
//	    not with the length announced, and is given back when the command was taken.
//	D5  The answer to a malformed command says what is expected. If the beginning of the next
//	    command is unknown, that answer is the last, and reaches the client even if it is
//	    still sending.
//	D6  A client has Stall to send its first command, and as long for the rest of each command, and
//	    a second more for each 8 KiB, while the listener reads it. Between commands it may be silent
//	    for Idle. A host that vanished is noticed by the kernel (keepalive, user timeout). A silent
//	    connection has no buffers.
//
// # Mailboxes
//
// A core owns a partition, and no other thread may access it. The core polls its mailbox
// (rpc.Poller) beside its sessions. A message is a place in the mailbox for a request, and later
// its result. Messages are a ring with three counters, each of which one side writes:
//
//	      taken            served            posted
//	        |                |                 |
//	--------+----------------+-----------------+---------
//	  free  | results, for   | requests, for   |  free
//	        | the loop       | the core        |
//
// Requests and results have the format of internal/command, as on a fabric: a core needs no
// other handler, and a listener no other codec.
//
//	M1  A message belongs to the loop until it is posted, to the core until it is served,
//	    and to the loop again until the loop has taken it and takes the next one.
//	M2  The results of a mailbox come in the order of its requests. There is no order between
//	    mailboxes.
//	M3  No call takes a lock. Once the ring has gone round, none allocates for requests and
//	    results of up to keepMessage bytes. The memory of longer ones is freed.
//	M4  A request is served even if the core was about to sleep when it was posted, and a
//	    result is noticed even if the loop was: each side announces its sleep before it
//	    checks for work a last time, and checks whether the other sleeps after it has published.
//	M5  Results that the loop has not taken have at most maxUntaken bytes together, plus those
//	    of one more request. Beyond that the core serves others first.
//
// # Why an event loop
//
// This is the counterpart of the RDMA Cache Prototype's baseline, a loop over poll(2), built to be
// comparable with good network servers. With a goroutine for each connection, the goroutines
// would have to take turns at a mailbox, which has one producer.
//
// The loop waits in the kernel for sockets, which no Waiter of a fabric knows; results end its
// sleep by an eventfd. While commands are in flight it first polls for results for a moment,
// since a core that is awake takes less time than a system call.
//
// # Threads
//
// The methods of Listener may be called from any goroutine. The core calls the exported methods
// of a mailbox, the loop the others.
package text

// Package text is the door for clients that speak lines over plain TCP: GET, SET, DEL and
// QUIT, by hand or by a program without any library of ours. docs/protocol.md has the
// grammar.
//
// # Terms
//
// A door is one event loop (epoll) with any number of connections, and a box
// (package mailbox) for every core. A command is parsed, sent to the core that owns its
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
//	    backlog, and what is expected of commands on their way, is more than Backlog. If it
//	    takes nothing for as long as Stall it is cut off, and the log says why.
//	D4  Input is bounded: a line by MaxLine, a value by the server's limit, and memory
//	    grows with what has come, not with what was announced.
//	D5  What cannot be understood is answered with what would be. If it is not known where
//	    the next command begins, that answer is the last, and arrives though the client
//	    still sends.
//	D6  The loop does not sleep while a result waits, nor a core while a command does
//	    (mailbox, M4).
//
// # Why an event loop
//
// This is the baseline of the RDMA Cache Prototype, which is a loop over poll(2) so that it
// is comparable with a network server of quality. A goroutine for each connection would
// also have to take turns at a box, which is for one.
//
// The loop waits in the kernel for sockets, which no Waiter of a fabric knows; results end
// its sleep by an eventfd. While commands are on their way it first looks for results for a
// moment, for a core that is awake needs less than a system call takes.
//
// # Threads
//
// The methods of Door may be called from any goroutine.
package text

// Package visit is what all paths share whose clients READ a server's memory by
// themselves: a server admits them and waits until they leave, and does nothing else for
// them.
//
// A visitor is a client's connection: one RC queue pair in a protection domain that has
// what is to be read, and nothing else (G7). A Hall is the server's side of all visitors
// of a device. A Line is the client's side of one. What a visitor reads, and how it
// learns where that is, is the business of the path, which has the private data of the
// handshake to begin with.
//
// # Invariants
//
//	V1  No core takes part: the server posts nothing and polls nothing for a visitor.
//	V2  A visitor that breaks, or a hall that closes, gives back the place at once.
//	V3  When Close of a hall returns, all its queue pairs are closed.
//	V4  A client that waits is woken by the end of its connection: there is a receive
//	    that nobody fills.
//
// # Threads
//
// A Hall is for any goroutine. A Line belongs to one at a time, but for QP.Disconnect and
// Waiter.Wake.
package visit

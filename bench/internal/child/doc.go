// Package child is the server of a benchmark: this binary, started again as a
// second process for one case and told what to do by JSON objects, one per line,
// over its standard input and output.
//
//	client process                           server process
//	+----------------------------+   JSON    +----------------------------+
//	| Start, Ask    commands ----+--stdin--->| Serve                      |
//	|               <--answers---+--stdout---+                            |
//	+----------------------------+           +----------------------------+
//
// The client says what to do, the server does it and answers, one after the other.
// A command is an object of the benchmark's own type; so is an answer, or else it
// is an object whose field Error says why there is none. When its input ends, the
// server exits, and the kernel kills it when the client dies. On the loop fabric,
// which has only one process, it is a goroutine that speaks the same protocol
// (Go).
//
// The protocol runs over pipes and not over the fabric under test, so that a
// broken fabric can still be told to stop, and so that the server can be started
// by any command, ssh included.
package child

// Package loop is the provider for queue pairs within one process. All memory
// is Go memory, so the race detector sees every access of both peers; it is
// what unit tests run on.
//
// A Network is a set of devices that can reach each other; nothing is global.
// Addresses are names: loop:name. Execution, queues and waiting are those of
// fabric/internal/direct; this package adds rendezvous by channels.
//
// # Invariants
//
//	I1  A region's memory is never unmapped: closing it revokes the key, and
//	    the garbage collector frees the memory when no peer can be in the
//	    middle of an operation on it any more.
//	I2  The two queue pairs of a connection know each other only through their
//	    controls; each learns of the other's end by a note.
package loop

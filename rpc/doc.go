// Package rpc is the contract that all paths share: what a handler on a server
// is, what a call on a client returns, and how failures travel. A path (rfp,
// herd, sendrecv) moves messages; what they mean is the program's business.
//
// # Server
//
// A server is a number of cores, each one thread that owns its clients. It
// calls a Handler for every request, runs it to completion and returns what it
// appended. A handler may not block: while it runs, the core serves nobody else.
//
// # Message
//
// A request is the number of a procedure, 16 bits, little-endian, and the bytes
// of its argument. A result is the bytes that the handler appended, or a failure:
// a code and a text, which the caller gets as an *Error.
package rpc

// Package rpc defines what all paths share: handlers on the server, calls on
// the client, and errors that travel from one to the other. A path (packages
// rfp, herd and sendrecv) moves messages and does not interpret them.
//
// # Server
//
// A server has one or more cores. A core is one thread that owns its clients,
// calls a Handler for every request, and returns the bytes that the handler
// appended. A handler must not block: while it runs, its core serves no other
// client.
//
// # Message
//
// A request is the number of a procedure (16 bits, little-endian) and the bytes
// of its argument. A result is the bytes that the handler appended, or a failure
// with a code and a text, which the client returns as an *Error.
package rpc

// Package driver lets any number of goroutines make calls over one connection, which
// belongs to one goroutine at a time.
//
// The package starts no goroutine. Of the callers that wait for a result, one at a time (the
// driver) drives the connection for all. It sends the calls that have come meanwhile
// together, so that concurrency becomes batches where the connection has batches, and a
// lone caller pays for no other.
//
// # Terms
//
//   - The token belongs to the driver. A caller that finds it free takes it.
//   - A caller that finds it taken parks: it waits for the signal that its call is done,
//     or that it must drive.
//   - The successor is the parked caller that a driver wakes when it has its own result.
//
// # Invariants
//
//	D1  Only the driver touches the connection, except for Wake and Disconnect.
//	D2  While callers wait for results, one of them drives or was signaled to: a driver
//	    that returns the token chooses a successor, and looks again afterwards, since a
//	    caller may have parked or given up in between.
//	D3  Calls are sent in the order in which they came, and results taken in the order in
//	    which calls were sent: a Conn answers in order.
//	D4  An abandoned call keeps its place among those that were sent; its result is dropped.
//	    Its memory is neither read nor written after its caller returns: the states busy
//	    and abandoned exclude each other. An abandoned call that waits for room is
//	    forgotten when more than 64 wait, and more than twice as many as were left last time.
//	D5  A call ends once: with its result if that comes before the end of the connection,
//	    with the error of the connection, or abandoned. Its error is rpc.ErrNotSent exactly if
//	    it never was put into the connection.
//	D6  A caller of Call that is parked waits for its signal alone; the driver checks the
//	    contexts of such callers, in turn.
//	D7  A long result is written to the memory of its caller as it comes, if the connection
//	    can (Lander). Its call is landing until the result is whole or the connection has
//	    left the memory; the caller returns after that.
//
// # Why not otherwise
//
// A caller that waits for its signal and for the end of its context locks two channels, one
// of which all callers often share.
//
// A goroutine that owns the connection costs two switches for each call. A lock around
// the connection would be held while its owner waits for the network, so that others
// could not add their calls to those that are about to be sent.
package driver

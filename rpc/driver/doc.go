// Package driver lets any number of goroutines make calls over one connection, which
// belongs to one goroutine at a time.
//
// There is no goroutine of its own: of those that wait for a result, one at a time (the
// driver) drives the connection for all. It puts the calls that have come meanwhile into
// the connection together, so that concurrency becomes batches where the connection has
// batches, and a caller who is alone pays for nobody else.
//
// # Terms
//
//   - The token is held by who drives. Whoever finds it free takes it.
//   - A caller that finds it taken parks: it waits for the signal that its call is done,
//     or that it is its turn to drive.
//   - The heir is the parked caller that a driver wakes when it has its own result.
//
// # Invariants
//
//	D1  Who holds the token alone touches the connection, but for Wake and Disconnect.
//	D2  While calls have no result and their callers wait, one of them drives or was
//	    told to: who lets go of the token chooses an heir, and looks again after it has
//	    let go, since a caller may have parked or given up in between.
//	D3  Calls are sent in the order in which they came, and results taken in the order in
//	    which calls were sent: a Conn answers in order.
//	D4  A call that was given up keeps its place among those that were sent; its result is
//	    dropped. Its memory is not read or written any more when its caller returns: the
//	    states busy and abandoned exclude each other.
//	D5  A call ends once: with its result, with what ended the connection, or given up. It
//	    is rpc.ErrNotSent exactly if it never was put into the connection.
//	D6  A caller of Call that is parked waits for its signal alone; whoever drives looks at
//	    the contexts of such callers, in turn.
//	D7  A long result is written where its caller wants it as it comes, if the connection can
//	    (Lander). Its call is landing until the result is whole or the memory was given back;
//	    the caller returns after that.
//
// # Why not otherwise
//
// A caller that waits for its signal and the end of its context takes the lock of two
// channels, one of which is often that of all callers.
//
// A goroutine that owns the connection costs two switches for each call. A lock around
// the connection would be held while its owner waits for the network, so that others
// could not add their calls to those that are about to be sent.
package driver

// Package base is what the providers are built on: the parts of a device that do not depend on
// how bytes reach the peer.
//
//   - Life is the state of a queue pair and why it is not ready.
//   - Notes are what other goroutines ask the owner of a completion queue to do.
//   - Places counts the entries of a completion queue that its queue pairs have reserved (G12).
//   - Contents counts what a protection domain holds.
//   - Recv is a posted receive.
//   - Gather and Scatter copy between contiguous bytes and the segments of a work request.
//   - Spinner is the busy half of a fabric.Waiter, for all providers. Sleeper is the other half
//     for those that sleep in poll(2), with a WakePipe to end the sleep.
//   - Peers is what a Spinner asks who is on its CPU: polling keeps such a peer from answering.
//   - Listener is a TCP socket whose connections say hello and then wait in a backlog.
//     HalfOpen is such a connection, or that of a dialer, before its queue pair is ready.
//   - Greeters are the connections of a listener whose hello is awaited.
//   - OpenSet is what a device closes when it is closed: its listeners and half-open connections.
//
// # Invariants of a Listener
//
//	L1  At most a bounded number of connections are silent. The oldest of the peer that has
//	    the most makes room for the next, so that silent peers neither fill the process nor
//	    keep others out. A connection whose hello has come is not closed to make room.
//	L2  A request that finds the backlog full is refused at once.
//	L3  After Close everything that waited has been refused, and nothing waits any more,
//	    including what was saying hello during Close.
//
// What a hello is, and how a request is refused, is the provider's.
package base

// Package remora is the client of a Remora cache: a key-value cache in memory
// that is reached by RDMA, by shared memory, or by TCP where there is neither.
//
//	client, err := remora.Dial(ctx, remora.DefaultAddr())
//	if err != nil {
//		return err
//	}
//	defer client.Close()
//	if _, err := client.Set(ctx, "greeting", []byte("hello"), time.Hour); err != nil {
//		return err
//	}
//	value, err := client.Get(ctx, "greeting")
//
// # Addresses
//
// The address of a server is a URL, whose scheme is the fabric:
//
//	shm:/run/remora.sock    shared memory, on the same machine
//	tcp://host:7700         TCP, anywhere
//	rdma://host:7700        RDMA, with a program built with -tags rdma
//	loop:name               within one process, for tests (WithDevice)
//
// DefaultAddr returns the address that server and command line use when none is given. A client
// never falls back to another fabric; Client.Info says which one it uses. The option ?path= of
// an address chooses the path, as WithPath does: ?path=reply has the server push its results,
// ?path=herd sends operations by UC and UD, and ?path=sendrecv by SEND over RC.
//
// # Goroutines
//
// A Client is for any number of goroutines. It has one connection with each core of the
// server and, while no connection is lost, no goroutine of its own: one of the waiting callers
// drives a connection for all of them. Calls that come at the same time travel together, so a
// thousand goroutines make large batches without waiting for one another. A program needs one
// Client per server.
//
// A Session is for one goroutine at a time, and has connections of its own. It is faster, and
// can have many operations in flight (StartGet, Next). The server polls each connection, so
// sessions are for the few goroutines to which microseconds matter.
//
// # Herd and SendRecv
//
// With PathHerd each operation is a WRITE over UC and a datagram, and neither is acknowledged:
// a server reaches many such clients with less work. Lost messages are sent again, and no
// operation is done twice. Beside it the client has a connection of PathRFP with each core. It
// takes requests longer than about 1000 bytes, and gets with such results: those are sent twice,
// so PathHerd is for small values.
//
// PathSendRecv has the same connection beside it. Each of its operations is two SENDs over RC,
// which loses nothing and costs both ends a receive.
//
// A caller sees its own writes, whichever connection carries them: an operation of a Client
// has ended before its caller begins the next, and a Session keeps an order of its own.
//
// # Links
//
// If the server allows it (Info.Links), a client remembers where the items are that it got, and
// gets them again by one READ of the server's memory, without the server's CPU. It does so where
// that is faster, on shared memory for one get at a time, or always with WithLinks. A READ
// counts only if key, version and checksum fit: the client asks the server for an item that was
// changed, deleted or evicted, or has expired. GetLink and Follow are for programs that keep
// links themselves.
//
// On PathPilaf, PathFarm, PathFarmVar and PathOneSided clients find every item by READs, in a
// server whose engine is made for that. Changes travel as on PathReply, those of PathPilaf as
// on PathSendRecv.
//
// # Errors
//
// If the server answers that it did nothing, the error says why: ErrNotFound, ErrExists,
// ErrChanged, ErrTooLarge, ErrOutOfMemory, ErrNotNumber, ErrUnsupported. ErrInvalid reports a
// mistake in the arguments. An operation without an answer returns a LostError, with the
// address and the reason, and is one of two:
//
//	ErrUnavailable   it has certainly not happened, and can be repeated
//	ErrUnknown       it may have happened or not: the program has to decide
//
// The end of a context is such a reason, too: errors.Is(err, context.DeadlineExceeded) and
// errors.Is(err, ErrUnknown) are both true of a Set that was sent and whose answer did not
// arrive in time. Neither errors nor logs show keys or values.
//
// # A lost server
//
// When a connection breaks, operations in flight fail with ErrUnknown, except for reads, which
// are tried once more. The client makes a new connection at once, and tries again with pauses
// that double (WithBackoff). Operations wait for it until the connection has been missing for a
// second (WithReconnectWait). From then on they fail at once with ErrUnavailable and the reason of
// the last attempt, so that a lost server does not delay a program that can do without it. They
// succeed again as soon as there is a connection.
//
// A restarted server is empty, has other versions and perhaps another number of cores. The
// client learns all of that by itself. A server that is shut down in order refuses operations
// instead of doing them; these wait for its successor as they do for a connection, and none is
// left in doubt.
//
// # Invariants
//
// How operations reach a core, in which order, and how lost connections are made anew is in
// internal/path (P1 to P7).
//
//	R1  A change is sent at most once. It is begun anew only if rpc.ErrNotSent or the answer
//	    of the server (WrongCore, Draining) says that it has not happened.
//	R2  After Close no goroutine of the client runs. The device, unless it came by
//	    WithDevice, is closed with the last of client and sessions.
//
// # Alternatives
//
// A change whose outcome is unknown is not repeated even where that looks harmless: a Set that
// was delayed and repeated can overwrite what another client has written between the two.
package remora

// Package remora is the client of a Remora cache: a key-value cache in memory
// that is reached by RDMA, by shared memory, or by TCP where there is neither.
//
//	client, err := remora.Dial(ctx, "tcp://cache.example:7700")
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
// A server is named by a URL, whose scheme is the fabric:
//
//	shm:/run/remora.sock    shared memory, on the same machine
//	tcp://host:7700         TCP, anywhere
//	rdma://host:7700        RDMA, with a program that was built with -tags rdma
//	loop:name               within one process, for tests (WithDevice)
//
// Nothing falls back to another fabric by itself; Client.Info says what is used.
// ?path=reply has the server push its results, ?path=herd has operations travel by
// UC and UD, and ?path=sendrecv by SEND over RC, as WithPath does.
//
// # Who may do what
//
// A Client is for any number of goroutines. It has one connection with each core
// of the server and no goroutine of its own while all is well: of the callers that
// wait, one drives the connection for all. Calls that come at the same time travel
// together, so a thousand goroutines make large batches without waiting for one
// another. A program needs one Client per server.
//
// A Session is for one goroutine at a time, and has connections of its own. It is
// quicker, and can have many operations on their way (StartGet, Next). The server
// looks after each connection, so sessions are for the few goroutines to which
// microseconds matter.
//
// # Herd and SendRecv
//
// With PathHerd each operation is a WRITE over UC and a datagram, and neither is
// acknowledged: a server reaches many such clients with less work. Messages that are
// lost are sent again, and none is done twice. Beside it there is a connection of rfp
// with each core. It takes requests that are longer than about 1000 bytes, and gets whose
// results are: those are asked for twice, so PathHerd is for small values.
//
// PathSendRecv has the same beside it: there each operation is two SENDs over RC, which
// loses nothing and costs both ends a receive.
//
// A caller sees what it wrote, whatever way it took: a Client's operation has ended
// before its caller begins the next, and a Session has its own order.
//
// # Links
//
// A client remembers where items are that it has got, if the server allows that (Info.Links),
// and reads them there by one READ: the server's CPU takes no part. It does so where that
// pays, on shared memory for one get at a time, or always if it was made WithLinks. What it
// has read counts only if key, version and checksum fit, so an item that was changed, deleted
// or evicted since, or whose time is over, is asked for as usual. GetLink and Chase are for
// programs that keep links themselves.
//
// On PathPilaf, PathFarm, PathFarmVar and PathOneSided clients find every item so, in a
// server whose engine is made for that. Changes travel as on PathReply, those of PathPilaf as
// on PathSendRecv.
//
// # Errors
//
// An operation that the server answered has an error that says why it did nothing:
// ErrNotFound, ErrExists, ErrChanged, ErrTooLarge, ErrOutOfMemory, ErrNotNumber,
// ErrUnsupported. ErrInvalid is a mistake in the arguments. One that it did not
// answer has a LostError, with the address and the reason, which is one of two:
//
//	ErrUnavailable   it has certainly not happened: it may be repeated
//	ErrUnknown       it may have happened or not: the program has to decide
//
// A context that ends is such a reason, too: errors.Is(err,
// context.DeadlineExceeded) and errors.Is(err, ErrUnknown) are both true of a Set
// that was sent and whose answer did not come in time. Neither errors nor logs
// show keys or values.
//
// # A lost server
//
// What was on its way over a connection that breaks fails with ErrUnknown, but for
// reads, which are tried once more. A new connection is made at once, and again
// and again with pauses that double (WithBackoff). Operations wait for it until
// the connection has been missing for a second (WithPatience). From then on they
// fail at once with ErrUnavailable and the reason of the last attempt, so that a
// server which is gone does not hold up a program that can do without it; when it
// is back they succeed again, without anything to be done.
//
// A server that was restarted is another one: empty, with other versions, maybe
// with another number of cores. The client learns all of that by itself. A server
// that is shut down in order says so in place of doing something; operations then
// wait for its successor as they do for a connection, and none is left in doubt.
//
// # Invariants
//
//	R1  A link is what is known about one start of a server: its seed, its number
//	    of cores, a lane for each. It does not change; when the server is another
//	    one the client has another link. An operation uses one link.
//	R2  A lane either has a connection, or exactly one goroutine that makes one and
//	    an outage that operations can wait for, or was ended with its link.
//	R3  A connection is taken out of its lane by the first operation that finds it
//	    over. It is closed by the goroutine that makes the next one.
//	R4  A change is sent at most once. It is begun anew only if rpc.ErrNotSent or
//	    the server's own word (WrongCore, Draining) says that it has not happened.
//	R5  After Close no goroutine of the client runs. The device, unless it came by
//	    WithDevice, is closed with the last of client and sessions.
//	R6  What is sent on a core by another way (herd, sendrecv, rfp, a search, a link) than what came before
//	    it is sent when that has its results; a get that a link would be followed for is asked
//	    for by rfp instead while that has others on their way. A get that is repeated by rfp because its
//	    result does not fit herd keeps its place among the results, nothing is sent by
//	    another way than rfp until it has its own, and no change of its key was sent before
//	    it was repeated.
//
// # Why not otherwise
//
// A call that failed as unknown is not repeated for changes even where that looks
// harmless: a Set that was delayed and repeated can overwrite what another client
// has written between the two.
package remora

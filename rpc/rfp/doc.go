// Package rfp is the remote-fetching paradigm: an RPC in which the server sends
// nothing back. A client writes its request into the server's memory by WRITE;
// the server polls its memory, serves, and leaves the result in its own memory;
// the client fetches it by READ. In-bound operations cost a server no CPU and an
// adapter a fraction of out-bound ones, so a server answers several times as
// many calls as one that replies. It follows RFP (Jakiro) and RF-RPC; package
// wire has the frames.
//
// # Terms
//
//   - A session is one client at one core of the server: an RC queue pair, a
//     ring of request slots that this client alone writes, and a ring of answer
//     slots that it alone reads, all in a protection domain of its own.
//   - Fetching: the client READs the answer slot, F bytes at first, and again
//     for the rest of a longer frame. A READ that finds the frame not there yet
//     has failed.
//   - Replying: the server, having put the frame into its answer slot, also
//     pushes it, by WRITE into the client's memory. The client polls that.
//   - The mode of a class of calls (a procedure) is one of the two. Hybrid
//     begins with fetching, changes to replying when more than R READs failed
//     in each of several consecutive calls, and back when the server reports times
//     that are short enough.
//   - The fetch policy (fetchPolicy) decides that, and when a client looks for an
//     answer. Its doc has the rules, P1 to P11.
//   - A parked session is one whose request slots the server does not look at.
//     Its next answer slot says so. The client, which looks there for its
//     answer, wakes the core: a SEND of no bytes.
//   - A session has proof if its frames prove themselves (package wire), because
//     a device does not promise order.
//   - A piece is part of a message longer than a frame. It lies in the bulk area
//     of its direction, and an entry of a frame says where. Both ends copy pieces at
//     the same time. An area is made when it is first needed.
//
// # Memory
//
//	of the server, for each session
//	  requests   | modes, a byte per class (256) | taken | choice | slot 0 | ...    WRITE
//	  answers    | slot 0 | slot 1 | ...                                            READ
//	  pieces     | of requests                             when first needed        WRITE
//	  pieces     | of results                              likewise                 READ
//	of the client
//	  replies    | slot 0 | slot 1 | ...                                            WRITE
//	  local      | request slots | landing slots, one for each answer slot | words
//	  landing    | a long result, READ piece by piece        when first needed, where no
//	                                                       Viewer (G20) does without
//	  stage      | bulk, from which pieces are written       likewise, where no Placer
//	                                                       (G21) does without
//
// Request frame n lies in slot (n-1) mod Window, result frame n in slot (n-1)
// mod Results, in all three places.
//
// # Invariants
//
//	I1  A client has at most Window request frames unanswered. A slot is written
//	    again only after the whole answer to the frame in it was taken, so the
//	    server never finds a slot half old and half new.
//	I2  Result frames are taken in order. The server has at most Results of them
//	    that the client has not said to have taken: in word 1 of a request, or in
//	    the word taken, by WRITE, when they are more than half the ring. What a
//	    request says counts when it was answered: while results wait for room, the
//	    server reads no requests. The ring is at least twice the window, so that
//	    frames which are answers by themselves need no such WRITE.
//	I3  A result frame is in its answer slot before it is pushed, so that
//	    fetching finds every answer, whatever mode either side believes in.
//	I4  A client that waits READs the answer slot again and again: after growing
//	    pauses while it expects a push, and once more before it sleeps. So neither a
//	    change of mode that crosses an answer, nor a session parked while a request is
//	    in flight, makes it wait forever. Pauses are times, so they also end for a
//	    client that polls rarely.
//	I5  Parking: the server announces it in the answer slot, then looks at the
//	    request slot once more. It does so only while the client is known to have
//	    taken the frame that was there before.
//	I6  The server copies a frame out of memory that the client can write before
//	    it looks at it, and checks every number in the copy. What does not fit
//	    ends the session, with a reason in the log and a count, and nothing else.
//	    Pieces too are copied once, into the message that is being assembled.
//	I7  Handlers see and fill memory that no client can reach.
//	I8  Memory of a session is bounded: the rings and areas, one message being
//	    assembled, at most MaxMessage + one frame of results that wait for room, and
//	    what is left of one request frame, whose messages are handled when there is
//	    room.
//	I9  A piece begins with a line. A piece of a request is free again when the frame
//	    that names it was answered, a piece of a result when its frame was taken (I2). The message is
//	    exactly as long as its pieces together, which each of them says. A client
//	    writes pieces before there is a slot for the frame that will name them.
//	I10 A core waits for a client to take pieces for some ten microseconds at most; the
//	    rest is kept. A client that lets it wait in vain again and again is waited for
//	    with one result in two, in four, and so on up to thirty-two.
//	I11 The bulk area of a direction is made when the first long message of that direction
//	    comes, on a goroutine that is not the core's. An answer begins with the place of
//	    an area, once. The server names a piece only when the client is known to have taken
//	    that frame (I2). Whether a message travels in pieces or in parts of a frame's length
//	    is decided when it begins.
//	I12 With proof, what does not fit its checksum is not there yet. A client READs the
//	    frame again, whole, as the fetch policy says, or looks at the pushed one
//	    with its next poll. A core looks at a request again in a later sweep, and at the
//	    piece of a request likewise, while the rest of its frame waits; each look in
//	    vain doubles the sweeps until the next (serving.Doubt), until a wake-up says
//	    that all is there. The rest of a long frame is READ when its first part has come, so
//	    it is not older; nor is a piece of a result. Words alone
//	    (modes, taken, the mark of a parked session) need no proof.
//
// # Long messages
//
// A long result is copied twice, at the same time: by the server from where the
// handler left it into the bulk area, by the client from there into its memory. Both
// together take longer than one copy, because two CPUs have to exchange lines. The server
// copies from four places of a piece at once. The length of the area counts more: a line
// that the client has read last must leave its cache before the server can write it, and
// in a longer area it mostly has. Requests take longer with a long area, so only that for
// results is long. Other instructions (string instructions, stores past the caches,
// CLDEMOTE behind them), lines fetched earlier or later and pieces of other lengths do not
// help. A client that looked at the log itself (fabric.Viewer), and
// took the checksum of what it copies, would spare the server's CPU and not be faster.
//
// A client that can look at the area (fabric.Viewer) copies pieces from there to where the result is wanted:
// into the memory of the caller of a Client, which then copies no more than a Conn. READs
// need memory that the fabric knows. When looking is not possible any more, what has come
// is copied there and the rest READ.
//
// A long request is copied by the client from where it is into the area of the server, if the queue
// pair is a Placer, otherwise by way of the stage; then by the server into the message.
//
// It also matters that neither side stops. The client takes every piece for news and
// does not sleep before several thousand looks have brought none; the last pieces are shorter,
// because one end waits while the other copies the last; it writes the next
// pieces of a request while the server has those before, whatever its window; and
// the time that copies take says nothing about a procedure, whose mode does not
// depend on it.
//
// # Threads
//
// A core is one goroutine, on a thread of its own when it is pinned, that owns
// the queue pairs of its sessions. Sessions are made by the goroutine of a
// listener and handed over (T3); memory is given back by another one, because
// unmapping takes time. A Conn belongs to one goroutine at a time. Client is for
// any number of goroutines: one that waits drives the connection for all. A core may
// serve other paths beside its sessions (rpc.Poller), from the same goroutine.
//
// # Why not otherwise
//
// The papers keep one request buffer per client and an array of answers; here
// both are rings of the same kind, because pipelining needs several requests on
// their way. Mode flags are written by the client as in the papers, and not part
// of a request, so that the call that is being waited for can already change
// over.
//
// A client could go on fetching, whatever calls take: with a delay that is long enough its
// READs find the answer. But it would spin all the time, where one that expects a push can
// sleep, and from some microseconds on pushes cost next to nothing. The span (P2) is
// longer than that, so that it need not be exact.
//
// The server could tell that it sleeps in one place for all clients. But then
// it would have to wake up for every one of them, and poll all of them while it
// is awake; parking single sessions makes a thousand idle clients cost nothing.
package rfp

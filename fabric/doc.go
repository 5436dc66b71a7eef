// Package fabric is the contract between Remora and the network: RDMA verbs,
// in Go. Everything above is written against it and nothing above knows which
// provider runs below: loop (one process), shm (one host), tcp (any two
// hosts), verbs (real RDMA), or simulated NICs in virtual time.
//
// # Terms
//
//   - A Device is one NIC, or software in place of one.
//   - A Domain is a protection domain: a key opens a Region only through a
//     queue pair of the same domain.
//   - A Region is registered memory, allocated by its device, with an address
//     and a key that a peer names in one-sided operations.
//   - A QP is a queue pair: RC (reliable, connected), UC (unreliable,
//     connected) or UD (unreliable datagram).
//   - A work request (WR, RecvWR) is posted to a queue pair. A CQ, a completion
//     queue, delivers a Completion for it later.
//   - The initiator posts a one-sided operation (WRITE, WRITE_IMM, READ,
//     FETCH_ADD, CMP_SWAP); the target's memory is read or written. An
//     operation is out-bound where it is initiated and in-bound at the target.
//   - A Waiter is how a thread waits for completions or for memory to change.
//
// # Operations by transport
//
//	            SEND RECV WRITE WRITE_IMM READ FETCH_ADD CMP_SWAP   limit
//	RC           x    x     x       x      x      x        x       MaxMessage
//	UC           x    x     x       x                              MaxMessage
//	UD           x    x                                            MTU
//
// Anything else is refused by Post with ErrUnsupported. Limits say whether a
// device has UC, UD and atomics at all.
//
// # Guarantees
//
// Each has a case in fabrictest that cites its number.
//
//	G1  Order. The work requests of one queue pair are executed in the order
//	    posted, and complete in that order. Receives complete in the order
//	    they were posted. Nothing is promised between queue pairs, nor about
//	    the order in which datagrams arrive.
//	G2  Placement. The bytes of WRITEs become visible at the target in any
//	    order, also those of several WRITEs, until G3 says that they are there;
//	    then each place has what the last WRITE brought. Where Limits.InOrder is
//	    set, WRITEs become visible one by one and in address order, the last
//	    byte last: a reader that sees the last byte sees all of it.
//	G3  Write before completion. What one queue pair wrote is visible at the
//	    target before a later SEND or WRITE_IMM of that queue pair completes
//	    a receive there, and before the initiator's own completion on RC.
//	G4  Read after write. A READ sees every earlier WRITE of its queue pair. It
//	    sees no byte of one that was posted after its completion, nor, where
//	    Limits.InOrder is set, of any later one.
//	G5  Words. An aligned 8-byte word is never torn by a WRITE or READ whose
//	    remote address is a multiple of 8. Where the local end lies does not
//	    matter. A READ looks at its words in any order, each at a time of its own
//	    between Post and completion; where Limits.InOrder is set, in address order.
//	G6  Atomics. FETCH_ADD and CMP_SWAP on one aligned word are atomic against
//	    each other from all queue pairs of the target's device, and against
//	    nothing else: not against the target's CPU, not against WRITE. They
//	    return the word as it was before, in the byte order of the hosts.
//	G7  Rights. A key that is revoked, of another domain, without the right
//	    for the operation, or an address range that is not wholly inside the
//	    region, touches no byte. On RC it completes with StatusRemoteAccess
//	    and breaks the queue pair on both sides. UC drops it in silence.
//	    An operation of zero bytes names no memory and is not checked.
//	G8  Reliability. On RC an operation that completed with success happened
//	    exactly once. UC and UD may drop a message; they never deliver
//	    a part of one, an altered one, or one for another queue pair. But of a
//	    WRITE on UC that is longer than the MTU and dropped, a part may have
//	    been placed.
//	G9  Receives. SEND and WRITE_IMM consume one posted receive each. Without
//	    one, RC waits as long as RNRTimeout says, then fails with
//	    StatusRNRExceeded; UC and UD drop. A message larger than the receive
//	    posted for it fails the receive with StatusLocalLength and, on RC,
//	    the send with StatusRemoteInvalid; both sides break. On UD it is
//	    dropped.
//	G10 Signaling. Only a signaled request yields a completion on success.
//	    An unsignaled one occupies its place in the send queue until a later
//	    signaled one of the same queue pair has been polled. A request that
//	    fails always yields a completion.
//	G11 Errors. The first failed request breaks its queue pair: the state
//	    becomes StateError, and every other outstanding request and receive
//	    completes with StatusFlushed, in order, signaled or not. What is
//	    posted in that state is flushed as well.
//	G12 Full queues. A post beyond SendDepth or RecvDepth is refused with
//	    ErrQueueFull; the part of the chain that fits is posted, and Post
//	    returns its length. A completion queue cannot overflow: a queue pair
//	    that might overflow it is refused when it is made (ErrCQTooSmall).
//	G13 Disconnect. Disconnect breaks this side at once, as in G11, with an
//	    error that wraps ErrClosed; on UD too. After Disconnect or Close of
//	    one side, the other side first receives everything that completed
//	    before, then breaks with ErrDisconnected. When a peer dies, the device
//	    notices by itself and the queue pair breaks with ErrPeerLost; requests
//	    in flight complete with StatusPeerLost or StatusFlushed. Nothing hangs.
//	G14 Inline. A request posted with FlagInline has read its local memory
//	    when Post returns. Otherwise local memory belongs to the fabric until
//	    the request is known to be complete (see G10).
//	G15 Counters. Every executed operation is counted once as out-bound at
//	    the initiator's queue pair and device, and once as in-bound at the
//	    target's. In-bound counts may lag behind: an RDMA adapter does not
//	    see them, so the verbs provider asks the peer each time Counters is
//	    called and returns its previous answer.
//	G16 Datagrams. A received datagram begins behind GRHSize bytes of header
//	    in its buffer, and Completion.Bytes includes them.
//	G17 Wake-up. A WRITE wakes no thread. A thread asleep in a Waiter is woken by
//	    a completion on one of its completion queues (for waiters with
//	    SolicitedOnly: a receive that the sender marked FlagSolicited, or any
//	    error), by a change of state of a queue pair on them, by Wake, and
//	    when its time is over. No wake-up is lost: a completion that arrives
//	    at any moment of falling asleep ends the sleep.
//	G18 One-sidedness. READ, WRITE and atomics make progress though the
//	    target's program neither posts nor polls.
//	G19 Immediate. The 32 bits of WRITE_IMM arrive in the completion of the
//	    receive it consumed, with HasImm set and Bytes the length written; the
//	    memory of that receive is not touched.
//	G20 Views. Some queue pairs of type RC are Viewers. View returns what a
//	    READ would, under the same rights, and is counted like one. A View
//	    that returns false neither breaks the queue pair nor completes. The
//	    memory behind a view stays mapped when its region is closed, and is
//	    not reused: its bytes stay as they were last.
//	G21 Places. Some queue pairs of type RC are Placers. Place does what a
//	    WRITE does, under the same rights, and is counted like one. A Place
//	    that returns false neither breaks the queue pair nor completes, and
//	    has written nothing.
//
// # Threads
//
//	T1  A queue pair, the completion queues that it uses and a waiter over
//	    them belong to one goroutine at a time (the owner), which alone calls
//	    Post, PostRecv, View, Place, Poll, Wait and Close. There are no locks
//	    on this path. The caller synchronises a change of owner.
//	T2  From any goroutine at any time: everything on Device, Domain, Listener
//	    and ConnRequest; QP.Disconnect, State, Err, Done, Counters and the
//	    getters; Waiter.Wake; all of Region except Close.
//	T3  Making a queue pair (Dial, Accept, NewUD) on a completion queue that
//	    its owner is polling is allowed from any goroutine.
//	T4  Destruction is in two phases: Disconnect from anywhere, then Close by
//	    the owner. When Close returns, no request or receive of the queue pair
//	    touches local memory any more. Regions are closed after the queue
//	    pairs that use them locally. One-sided operations of a peer end with
//	    the region, not with the queue pair: memory that one peer could write
//	    is closed, never handed to another peer.
//
// # Memory shared with a peer
//
// Bytes of a Region with remote rights change or are read while the program
// looks at them. The program reads them through internal/fence (ObserveByte,
// Observe64, CopyIn) once, checks what it copied, and writes what a peer may
// be reading through CopyOut and Publish64. Plain access is right only when a
// completion or an observed flag has ordered it, or in a view of memory that its
// owner has promised not to change (G20).
//
// # Providers
//
// A provider is a package below fabric that passes fabrictest. The same file of
// each holds the same thing: device, domain, region, cq, poll, wait, qp, post
// (the send queue), recv (the receive queue), ud (datagrams), connect (Dial),
// listen (Listener and ConnRequest), control (the control connection), wire (its
// format) and counters. What they share is in fabric/internal/base, and what
// loop and shm share besides in fabric/internal/direct.
//
// # Why not otherwise
//
// Regions are allocated by the device rather than registered over memory that
// the program brings: shared memory can only share what is born shared, and a
// few large registrations are what RDMA hardware wants as well. Closing a
// region therefore both revokes its key and ends its memory, and a late WRITE
// of a peer lands in pages that are no longer used.
//
// Order is a limit of devices and not of queue pairs. What protocols above rely on is
// agreed upon when they connect, before there is a queue pair that could be asked, and
// for both ends at once. Verbs never promises it: InfiniBand and PCIe do not, and
// ibv_query_qp_data_in_order says only how one operation is placed into local memory, not
// in which order the adapter of the target looks at memory for a READ, nor that one WRITE
// is there before the next. So a protocol that polls memory for more than a word gives it
// a checksum where InOrder is not set (package wire).
//
// WRITE does not wake (G17) because no RDMA hardware can do it. A path that
// wants its server to sleep wakes it by WRITE_IMM or SEND when the server has
// published that it sleeps (WaitConfig.BeforeSleep), and pays nothing for it when busy.
//
// A waiter that polls keeps a peer on the same CPU from answering, and one that yields, or sleeps,
// waits ten or a thousand times as long as need be for a peer that runs elsewhere. So software
// providers tell each other where they run, and only a peer on the same CPU is yielded to
// (Waiter.Crowded). To guess it from how long a wait takes is not possible: a yield to some
// other thread looks the same, and takes a time slice.
//
// Local mistakes (a segment outside its region, a region of another domain,
// too much inline data) are errors of Post and not completions: they are
// known at once, and only to the program that made them.
package fabric

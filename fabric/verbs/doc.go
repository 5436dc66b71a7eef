// Package verbs is the provider on real RDMA: InfiniBand, RoCE and Soft-RoCE,
// through libibverbs. What loop, shm and tcp do in software is done by the
// adapter here; this package binds it to the contract of package fabric.
//
// It is built with -tags rdma and needs cgo and the headers of libibverbs. The
// library itself is opened when the first device is, so a binary with this
// provider starts on a machine without it and says what is missing. Without
// the tag the package has no devices, only the formats below.
//
// # Terms
//
//   - The staging area is memory outside the Go heap that belongs to one completion
//     queue: work requests and completions in the layout of the library. Post
//     writes requests there and hands the chain to the adapter in one C call;
//     Poll has one C call fill in completions.
//   - A slot is the place of a request in the send or receive queue. Its
//     number counts requests ever posted. What the adapter does not tell, or
//     not when a request failed (ID, kind, length), is kept in the slot.
//   - A tag is a number that names a queue pair on its completion queue; tag
//     and slot together are the wr_id of a work request.
//   - The control connection is a TCP connection beside every connected queue
//     pair. Over it the ends find each other, disconnect, notice each other's
//     death, and ask for what a target cannot see: one-sided operations.
//   - A note is a message of another goroutine to the owner of a completion
//     queue: a queue pair has left StateReady.
//
// # The control connection
//
// A listener is a TCP socket at host:port; options of the address (device=,
// port=, gid=) choose the local adapter, and cm= whether the connection manager
// is used: auto, on or off. Without options it is the adapter on the interface
// that leads to host (see Config). Further options say how the queue pairs of this
// side are made (see Tuning): sl=, tclass=, pkey=, vector=, inline=, timeout= and
// retry=. Every message is a header and a body, numbers are little-endian:
//
//	0        2      3
//	+--------+------+------------------+
//	| length | kind | body             |   length: of the body, u16
//	+--------+------+------------------+
//
//	kind    message   body
//	 1      hello     magic u32 'RMVB', version u8, transport u8, flags u8 (bit 0:
//	                  connection manager), end
//	 2      accept    the same
//	 3      reject    private data of the refusing program
//	 4      refuse    reason, text
//	 5      ready     nothing
//	 6      counts    operations initiated by kind, u64 each of fabric.NumOps;
//	                  bytes of the one-sided ones u64
//	 7      bye       why u8
//	 8      ask       nothing; asks for counts
//
//	end:  link layer u8, MTU u8, reads in flight it answers u8, LID u16,
//	      QP number u32, first PSN u32, RNR timeout u64, GID 16 bytes,
//	      address and port of its connection manager 16 bytes and u16,
//	      token u64, private data
//
// The dialer makes its queue pair and sends hello; the acceptor makes its own,
// connects it, and sends accept, reject or refuse; the dialer connects its own
// and sends ready. So the end that returns a queue pair to its program knows that
// the other end can receive. After that, an end whose counters are read sends
// ask, and not again before the peer has answered with counts; so a process that
// is stopped is not sent more than its system buffers. A bye, of which there is
// one, follows the last counts. The end of the socket without a bye is the death
// of the peer.
//
// # The connection manager
//
// Where librdmacm is there and both ends have it, it connects RC queue pairs:
// it knows the path between two adapters better than a pair of GIDs does
// (subnets, service levels, partitions); what the address says of these comes
// first. The hello says that the dialer has
// it; the accept names the address of the acceptor's and a token, the dialer's
// request to it carries the token, and when that is done comes ready. UC
// queue pairs, and RC ones with cm=off, are connected by the numbers in the
// hellos. What the program's private data is, disconnects and deaths are matters
// of the control connection either way.
//
// # The address of a datagram queue pair
//
//	magic u32 'RMUD', version u8, link layer u8, LID u16, QP number u32,
//	Q_Key u32, UDP port for tallies u16 (see tally.go), GID 16 bytes,
//	CRC-32C of all of this
//
// # Invariants
//
//	I1  wr_id = tag << 32 | slot & (1<<31 - 1), bit 31 set for receives. A tag
//	    is used again on its completion queue only after its place was taken
//	    2^16 times, so a completion of a queue pair that is gone is recognised
//	    and dropped.
//	I2  Completions of one queue of one queue pair come in the order of its
//	    slots. Slots that a completion leaves behind belong to requests that
//	    were not signaled and succeeded: only then is nothing reported.
//	I3  The adapter is never given more than SendDepth and RecvDepth requests
//	    that were not polled, so neither its queues nor the completion queue
//	    can overflow. The adapter's own depths may be larger and do not count.
//	I4  A queue pair that leaves StateReady, for whatever reason, is moved to
//	    the error state of the adapter, which flushes it. The owner does so
//	    once more (settle) before it posts anything else: adapters that look
//	    at their queues only when told have then seen every request.
//	I5  Requests posted after that are given to the adapter, which flushes
//	    them; receives are not, because some adapters do not look at them any
//	    more. They are flushed here when the adapter has returned the others.
//	I6  An end that broke because of what the peer asked for says so in its
//	    bye. The peer then waits a moment for the adapter's own verdict on its
//	    request, which is more precise, before it breaks too. A request that the
//	    adapter gave up meanwhile, for want of an answer, is taken for that one.
//	I7  Handles of the library are used under the mutex of their object, or by
//	    the owner of the queue pair, who alone frees them (T4). A call that may
//	    wait for the network (connecting a queue pair, making an address handle)
//	    holds no lock that something else needs.
//	I8  Memory is registered for remote access only with local write, without
//	    relaxed ordering; each protection domain of the contract is one of the
//	    adapter, so that a key opens nothing elsewhere (G7).
//	I9  Nothing that a peer sends on the control connection makes this side
//	    block, and what does not fit the table above ends the connection with
//	    ErrProtocol.
//	I10 A port that goes down has silentHost to return, while RC repeats what is
//	    not acknowledged; then its queue pairs end. Which GID, LID and table of
//	    partition keys a port has is read again when the adapter reports a
//	    change: connections and address handles made from then on use it, open
//	    queue pairs keep what they were connected with. A GID that the port still
//	    has is not given up for a better one.
//
// # Threads
//
// Post, PostRecv, Poll, Wait and Close run in the owner (T1) and take no lock
// that others hold for long. One goroutine per connection reads its control
// connection and one per device reads asynchronous events of the
// adapter, and waits for a port that is down. On
// Soft-RoCE one more looks for queue pairs that were broken in silence. Lock order:
// Domain.mu or QP.hwMu, then Device.mu, then QP.mu or CQ.mu. The locks of the
// connection manager and of a control connection come after QP.hwMu, and none
// is taken under them but QP.mu.
//
// # Receiver not ready
//
// How long an adapter waits for a receive is the product of a count that the
// sender sets and a time that the receiver sets, so both ends compute them
// from the sender's RNRTimeout (see rnrPlan). Times beyond what the adapter
// can express wait without end there, and are ended here. A wait that is bounded has
// seven attempts, and those of a second are a quarter of a second apart; only
// a wait without end tries again soon (0.6 ms).
//
// # Why not otherwise
//
// The control connection is plain TCP rather than the connection manager's
// own messages, because it works alike for RC and UC, on InfiniBand, RoCE and
// Soft-RoCE, carries more private data, and ends when a process dies, which an
// idle RC queue pair does not notice.
//
// Go writes the library's own structures instead of flat ones that C would
// translate: translation costs as much as filling them in. Their layout is
// asserted at compile time against the headers.
package verbs

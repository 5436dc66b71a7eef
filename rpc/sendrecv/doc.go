// Package sendrecv is the plain way of moving calls over RDMA: both ends post receives,
// a request is one SEND over RC and so is its reply. It is what the other paths are
// compared with: nothing is polled in memory that a peer writes, nothing is lost, and
// either end may sleep until a message comes. It costs a receive at each end for every
// message, and a reliable queue pair for each client at each core.
//
// # Terms
//
//   - A session is a client at one core, as the server knows it: an RC queue pair, its
//     receives and its reply memory. A client of several cores has a session at each,
//     so that a core alone touches what it serves.
//   - The window W is how many requests of a session can be without a reply that was
//     taken.
//   - A place is memory for one message: of a receive, of a request, of a reply.
//   - A session is due when it has requests that came and were not served, and stalled
//     while its send queue has no room for their replies.
//
// # Messages
//
// Every SEND is a header of 8 bytes and a message, of at most M bytes (1 KiB unless
// configured). A receive has room for exactly that: 8+M.
//
//	0        4      5       8
//	+--------+------+-------+------------------+
//	| number | kind | 0     | message          |
//	+--------+------+-------+------------------+
//
//	number  of the request on its session, from 1, modulo 2^32: in the request and in
//	        its reply. 0 in ready.
//	kind    1 request; 2 result; 3 failure: a code (16 bits) and a text; 4 ready
//
// What is in a request is as package rpc defines it. Requests and results longer than M
// are refused with rpc.ErrTooLarge and CodeTooLarge, and go by another path, which is the
// caller's business.
//
// # Handshake
//
// The private data at connect. A server that accepts requests of several paths tells them apart by
// the magic.
//
//	hello    | "SR" | version (u8) | 0 | core (u16) | W (u16) | M (u32) |
//	welcome  | "SR" | version (u8) | 0 | core | cores | W (u16) | 0 (u16) | M (u32) |
//
// The client says what it would like, core 0xFFFF is any; W and M of the welcome are at
// most that. A queue pair is ready before its owner can post receives to it, so the
// server sends ready when it has, and the client sends nothing before. Ready itself waits
// until the client has posted its own (G9).
//
// # Invariants
//
//	S1  A receive is posted for every message before it can be sent. The server has W+1,
//	    and posts each again before it sends the reply to what was in it. The client has
//	    W+1: one for each request without a reply, and the one whose result the program
//	    reads.
//	S2  Replies come in the order of the requests: a core serves a session in the order in
//	    which its receives complete, and RC keeps order (G1). The number is there to be
//	    checked, not to search by: an end that has lost count is found out at once.
//	S3  A request takes effect at most once (G8). When the queue pair breaks, exactly the
//	    calls whose replies have not come fail; what was not sent fails with
//	    rpc.ErrNotSent, what was sent may have been served or not.
//	S4  Receives are posted, complete and are posted again in one order, so message number
//	    n is in place n modulo the number of places.
//	S5  What has come is in memory that no peer can reach, and is the program's until the
//	    receive is posted again. Handlers read it where it is.
//	S6  Memory is not written while an operation may read it. The place of a request is
//	    used again when its reply was taken, the place of a reply when request number n+W
//	    has come: the answer is the proof that the message was sent. A client that sends
//	    earlier spoils its own replies.
//	S7  Neither end posts a SEND for which its queue has no room. One in a part of it is
//	    signaled; its completion frees that part. A session that has no room stalls: its
//	    requests wait in their receives, which are not posted again.
//	S8  What breaks the rules ends the session, with a reason in the log and a count, and
//	    nothing else: what is no request, one longer than M, more than W at once, a reply
//	    for which there is no receive in ServerConfig.ReceiveWait.
//	S9  A core that sleeps is woken by the receive that completes (G17). A completion that
//	    is taken while it sleeps is kept until it has woken.
//	S10 The memory of a session is bounded: 2W+1 places. It is given back when the queue
//	    pair is closed, so that no operation touches it (T4).
//
// # What is inline
//
// Requests up to the device's limit, replies up to ServerConfig.Inline too: above it a
// second access of the adapter costs less than copying.
//
// # Chains
//
// A core takes all completions that there are, and serves session by session. The
// receives of what it served of one are posted again by one call, and so are the replies.
// When requests of several came together, Expect is called with all before the first is
// served, so that loading of memory overlaps.
//
// # Threads
//
// A core is one goroutine. It owns its completion queues and the queue pairs of its
// sessions. A server runs its cores itself, or a host drives each of them (Poller) from the
// goroutine of its own core, so that both paths serve one partition. Sessions are made by
// the goroutine that accepts, and handed over; what receives they have is posted by the core. A Conn
// belongs to one goroutine at a time, but for Wake, Disconnect and Stats.
//
// # Hostile clients
//
// A client can send anything at any time. It gets refusals, or an end, for itself: it has
// no key of any memory here. More requests than its window find no receive and wait at
// its own end; if the core sees more than W together it cuts the client off.
//
// # Why not otherwise
//
// A shared receive queue would need fewer receives for many idle clients. The contract of
// fabrics has none, and one client could use up what another one counts on (S1).
//
// A reply could say which place of the window it is for, and come in any order. On RC
// nothing would come earlier for it.
//
// One queue pair for all cores would need a core that hands requests on to others, which
// then touch one queue, or a lock.
//
// Ready could be spared if requests waited for receives (RNR). How long an adapter sleeps
// before it tries again is up to hundreds of milliseconds, and the first request would
// pay for it.
package sendrecv

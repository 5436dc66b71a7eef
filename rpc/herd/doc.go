// Package herd is HERD's way of moving calls: a client writes its request into
// the server's memory by WRITE over UC, the core that owns that memory polls it,
// serves, and answers by SEND over UD. One round trip per call, one in-bound WRITE
// and one datagram, and both transports keep no state that grows with the number
// of cores or has to be acknowledged. Both may lose messages: what makes a call
// happen once is here.
//
// # Terms
//
//   - A session is a client as the server knows it: a UC queue pair, a request
//     region that it alone writes, and its generation.
//   - A slot holds one request. A chunk is the W slots that one core polls for one
//     session; W is the window. A session is with all cores, or with some that follow
//     each other (CoreConn at the client). Its request region is its chunks, core by
//     core, so that request r to core s of them lies in slot s*W + (r mod W).
//   - The number of a request counts from 1 for each core: the requests of one
//     client to one core. Generation and number make the stamp, which is in the
//     slot and in the reply.
//   - A reply QP is the UD queue pair of a core on one device: one for all sessions.
//   - The reply memory of a chunk has a place for each slot, with the last reply
//     that was made for a request in it.
//   - A wake-up is a SEND over UC: which requests to a core have no reply yet. The
//     registry, a goroutine for each device, takes wake-ups and hands them to cores.
//   - A parked chunk is one that its core does not look at until a wake-up comes.
//   - A no-op moves the pipeline without a request.
//
// # Request
//
// Right-aligned in its slot of S bytes (1 KiB unless configured), so that the stamp
// comes last, in the 8 bytes that the core polls. The WRITE begins at a multiple
// of 8.
//
//	      S-24-n           S-24     S-16      S-8      S
//	+-----+----------------+--------+---------+--------+
//	|     | message, n B   | length | keyhash | stamp  |
//	+-----+----------------+--------+---------+--------+
//
//	length   bits 0-15 n; bits 32-63, if a device of either end does not promise order
//	         (fabric.Limits.InOrder), 32 bits of the XXH3-64 of the message with the
//	         stamp as the seed; the rest is 0
//	keyhash  what is expected to be needed: a hint for prefetching, never trusted
//	stamp    bits 0-39 number, bits 40-63 generation, which is never 0
//
// The message is as package rpc defines it, with the full key in it: a keyhash
// alone decides nothing, so keys of any length are served, and hashes that collide
// cannot return a wrong value. A message is at most S-24 bytes, as is a result, and S is
// at most the MTU, since a longer WRITE over UC can be placed in part (G8);
// longer messages are refused with rpc.ErrTooLarge and CodeTooLarge, and go by another
// path, which is the caller's business.
//
// # Reply
//
// A datagram of one of four kinds.
//
//	0        8                16
//	+--------+----------------+------------------+
//	| stamp  | core, kind     | result           |
//	+--------+----------------+------------------+
//
//	word 1   bits 0-15 core, bits 16-23 kind, the rest is 0
//	kind     result; failure: a code (16 bits) and a text; welcome: the core looks
//	         at the chunk; parked: it has stopped to, and stamp is of the request
//	         that it waits for
//
// # Handshake and wake-ups
//
// The private data at connect say window, slot size and which cores, and where the
// request region is. An address of a datagram queue pair is longer than that, so it follows
// by SEND over UC: the client introduces itself until each core has welcomed it.
//
//	introduction  | 1 (u8) | 0 | length (u16) | address |
//	wake-up       | 2 (u8) | 0 | core (u16) | 0 (u32) | number (u64) | mask (u64) |
//
// Bit i of the mask says that request number+i has no reply; a mask of 0 asks for
// the welcome again.
//
// # Invariants
//
//	H1  A core takes the requests of a chunk in the order of their numbers: it looks
//	    for exactly one stamp in exactly one slot. Where there is order, a core that
//	    sees it sees the whole request (G2). Elsewhere the request is there when the
//	    hash fits. A core looks again after twice as many sweeps each time
//	    (serving.Doubt), and at once after a wake-up.
//	H2  A request takes effect at most once. Its number is taken once; what arrives
//	    again finds another number expected. The reply of each is kept until request
//	    r+W is served, which an honest client sends only when it has reply r. So
//	    every request that was taken and has no reply at the client is either in the
//	    pipeline or has its reply in the memory: a wake-up has that sent again.
//	H3  A client takes a reply only for a request of its own generation that has a
//	    number without a reply at that core. Late replies, second copies
//	    and replies to an earlier owner of this queue pair's number are passed over.
//	H4  A request is written again when its reply is late, then a wake-up is sent. The
//	    order of a UC queue pair (G1, G3) makes the core find the request when it looks
//	    because of the wake-up. Pauses double; a call ends with its reply or, when
//	    GiveUp is over, the connection ends with ErrNoAnswer. A connection whose queue
//	    pair breaks ends at once.
//	H5  Memory is not written while an operation may read it: an image of a request
//	    that was written twice is filled again only when both WRITEs are known to be
//	    complete, a place of the reply memory that was sent twice likewise. After one
//	    WRITE or SEND alone, the answer to it is the proof.
//	H6  A receive is posted for every request before it is written, and some more
//	    for copies, welcomes and parked. Replies that were not taken by the program
//	    hold their receives, and are at most W for each core.
//	H7  A request region belongs to one session and ends with it. A new client has
//	    another region and another generation. Nothing of the dead is looked at or
//	    sent to once their core has let go of the chunk, and the reply memory is given
//	    back when no SEND from it is outstanding.
//	H8  What a client wrote is copied once, then checked. What does not fit ends the
//	    session, with a reason in the log and a count, and nothing else. Handlers see
//	    and fill memory that no client can reach.
//	H9  Parking: the core sends word, then looks at the slot once more. A client that
//	    gets it while it has a request of that number or later without a reply sends a
//	    wake-up; so does the next request otherwise. When the word is lost, H4 does.
//	H10 The pipeline is empty before a core sleeps or yields its CPU, and after FlushPolls
//	    looks in vain: no request waits for another one to push it on.
//	H11 Memory of a session is bounded: its slots, as much for replies, one pending
//	    wake-up on each core.
//	H12 A reply QP that breaks is replaced before the core answers the next wake-up: what
//	    was lost with it is asked for like anything that is lost (H4). When it cannot be,
//	    its clients are cut off with a reason in the log and a count, and each that comes
//	    makes the core try again.
//	H13 A request is taken only when the reply QP has room for its reply and those of
//	    the pipeline. Until then it stays in its slot, and its core does not sleep. Notices,
//	    and replies that are sent again, are dropped when there is no room.
//
// # The pipeline
//
// A request that was found enters stage 0 and its index entry is prefetched; the
// one before it goes to stage 1, where its item is prefetched; the one before that
// is served and its reply posted, while the memory is in flight. The server calls
// Expect for both stages with the keyhash. Without Expect, or with NoPrefetch, requests are
// served when they are found.
//
// # What is inline
//
// Requests up to the device's limit; replies up to ServerConfig.Inline, 192 bytes
// as in the paper: above it a second access of the adapter costs less than copying.
// Neither is signaled but every so often, to free the queue.
//
// # Threads
//
// A core is one goroutine. It owns its reply QPs, its chunks and its pipeline. A
// server runs its cores itself, or a host drives each of them (Poller) from the
// goroutine of its own core, so that both paths serve one partition. The registry owns
// the UC queue pairs; it alone begins and ends sessions. Address handles are made by
// goroutines of their own, because that can take long. A Conn, with its CoreConns,
// belongs to one goroutine at a time.
//
// # Hostile clients
//
// A client can write its own slots at any time and in any order, and send any
// number of wake-ups. It gets torn requests, lost replies and refusals for itself, a look at W
// places for a wake-up, and nothing of others. What it cannot be kept from is to name the
// address of another client: replies to its own requests then go there, are passed over
// (H3) and use up receives. Where the fabric knows of which host an address is (QP.Owns; on tcp),
// a client can name none but those of its own host.
//
// # Why not otherwise
//
// HERD has one request region for all clients. Then every client could write the
// requests of every other, and the slots of the dead would be handed on while their
// last WRITEs may still land. A region for each session costs the server one more key
// and keeps the polling order: chunk by chunk, one slot in each.
//
// HERD's keyhash is 16 bytes, is the key, and is zeroed by the server to free the
// slot. A second WRITE of the same request after that would be a new request. Here 8
// of the 16 bytes are the hash and 8 the stamp, which cannot be 0 either; as it is
// another one for each request, the slot needs no zeroing, and the line goes to the
// server once and not twice.
//
// A client of HERD has a UD queue pair for each core. One is enough: the reply says
// which core it is from.
//
// Retries could be noticed by polling all W slots. Then a core would look at W times
// as many lines for what happens once in a while. A wake-up costs more and is rare.
//
// Wake-ups could be datagrams to the reply QP of a core. Then clients would have to know
// its address, and a wake-up would not follow the WRITEs that it is about (H4).
package herd

// Package keli serves items with links (package kvl) and reads them, as the KELI paper describes. A
// lookup by key is a call that a core of the server answers. The item behind a link is read by the
// client itself, with one READ of the server's memory, and no CPU of the server takes part.
//
// A Server publishes images one after the other, as generations. A Client, or a Session for a
// single goroutine, looks items up and follows their links.
//
// # Terms
//
//   - A generation is an image that is served, and its number. Publish makes the next one. It is
//     current until the one after it is published, and old until its memory is given back.
//   - The superblock is a block of the server's memory that names the current generation and where
//     its directory is. The directory says where the areas of a generation are, and holds its
//     schema. Clients READ both.
//   - The lease is how long a client may use the memory of a generation after it has seen in the
//     superblock that the generation is current.
//   - A reader connection is the connection over which a client READs.
//   - A snapshot is what a client knows of a generation: its directory, and when the lease
//     ends. A session works in one snapshot.
//   - To follow a link is to READ the record behind it. To walk is to follow the links of
//     items, and the links of the items behind them, breadth first. Several workers can share a
//     walk, each with a session.
//
// # Invariants
//
//	E1  The memory of a generation does not change after it was published: areas and
//	    directory are complete before the superblock says where they are.
//	E2  The lease. A client that posted a READ of the superblock at t0 and found generation g may
//	    use bytes of g if, after they arrived, its clock was before t0+Lease. The server notes the
//	    time when no superblock names g any more, and gives the memory of g back Lease and a
//	    quarter later. So clocks need not agree, and may differ in speed by less than a quarter;
//	    no client is notified or waited for, and a client that was paused discards what it has
//	    read.
//	    Where the fabric allows it (fabric.Viewer), a client decodes records in place instead.
//	    Their bytes do not change under a view, so the client reads its clock after it has
//	    obtained the view. The superblock is always READ.
//	E3  A session renews its lease when half of it is over, beside its other READs. If the
//	    superblock then names another generation, the snapshot stays valid until its lease ends.
//	E4  One operation is in one generation: an item, a whole list, a whole walk that is not
//	    Mixed. If the lease ends first and the generation is old, the operation fails with
//	    ErrGenerationOver. A link of another generation than the session's is ErrGeneration.
//	E5  Lookups are answered for generations whose memory is there. A core announces that it uses
//	    the list of generations before it loads the list, so memory is given back only when
//	    no core can be using it.
//	E6  A generation that cannot be built changes nothing: the one before stays current, and
//	    the error says why. Its number is not used again.
//	E7  What is read is checked before it is used: the superblock by its checksum and by the
//	    generation at both its ends, again if it was being written, the directory by its checksum, a record by kvl.ParseItem,
//	    and a link against the areas of the directory. What stays wrong is kvl.ErrCorrupt.
//	    A server that breaks E1 can change a record that is decoded in place: then the item says
//	    something else, and nothing outside of it is read (K2).
//	E8  A reader connection can READ the areas and directories of images and the superblock, and
//	    no other memory.
//	E9  Memory is bounded at both ends. A server has at most Generations images, or Publish fails.
//	    A session has Window+2 slots, and a buffer for each longer record while it uses it. The
//	    queues of a walk hold what MaxItems allows and the links of those items, and one bit for
//	    each 32 bytes of the areas that it has come to.
//	E10 Follow, on a session whose snapshot is valid, allocates nothing.
//	E11 What fails because a connection is lost is tried again on a new one: reading twice
//	    does no harm.
//
// # Handshake
//
// Private data of a reader connection, little-endian. The connection for lookups is that of rfp.
//
//	hello    | magic 2 "KL" | version 1 | 0 |
//	welcome  | magic 2 | version 1 | 0 | superblock: key 4 | superblock: address 8 | instance 8 |
//
// # Superblock
//
// 64 bytes at a multiple of 64.
//
//	0   generation   u64   0: there is none yet
//	8   directory    address u64
//	16               key u32, length u32
//	24  lease        u64   in nanoseconds
//	32  instance     u64   tells this start of the server from any other
//	40  0            u64
//	48  checksum     u64   CRC-32C of the 48 bytes before
//	56  generation   u64   again
//
// A READ may see words of two generations (G5). It is of one if both ends and the checksum fit;
// otherwise the client READs again.
//
// # Directory
//
//	0   checksum     u32   CRC-32C of what follows
//	4   magic        u32   "KDIR"
//	8   generation   u64
//	16  areas        u32
//	20  schema       u32   its length
//	24  an area:  | address u64 | length u64 | key u32 | 0 u32 |   areas times
//	..  schema, as kvl.Schema encodes it
//
// # Calls
//
//	1 lookup   | generation u64, 0 the current one | key |
//	           | status u8 | 0 (7) | generation u64 | link (16) | record |
//	           status: 0 found, 1 found and too long to be sent: follow the link,
//	           2 no such key in that generation, 3 no such generation: the current one is named
//	2 info     | | -> JSON, see Info
//	3 stats    | | -> JSON, see Stats
//	4 reload   | | -> JSON: {"ended": n}: a build that began after the call has ended, published or
//	           failed, when n builds have ended. Failure 1024: clients may not ask
//
// # Threads
//
// Any goroutine may use a Server or a Client; one at a time may use a Session. The cores of the
// server are those of rfp, and one goroutine, the reclaimer, gives memory back. Publish builds in
// the goroutine of its caller, one image at a time. The workers of a parallel walk are goroutines
// that live as long as the walk. They share the bits of visited places, by atomics, and divide the
// next level among them while only one of them runs. Everything waits in waiters of the fabric,
// except for the pauses between attempts to connect, and takes the time from the device's clock.
//
// # Why not otherwise
//
// Clients could announce which generation they use. Then the server would have to notice that a
// client died, and each walk would write; a lease needs neither. The server could tell clients of
// a new generation: they would have to check for its message before every READ, instead of the
// clock after it.
//
// Sessions could READ the superblock beside every record. That would double the READs for what a
// look at the clock proves as well.
//
// Each worker of a walk could own a part of the places, and send what it finds to the owner. That
// is not faster: the loads of bits hit the cache more often, but every place is handled twice.
//
// The READs could go through the queue pair of rfp. Then images would be in the domain of
// request memory, of which each session has its own.
package keli

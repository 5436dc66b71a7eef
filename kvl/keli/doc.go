// Package keli serves items with links (package kvl) and reads them: KELI. A lookup by
// key is a call that a core of the server answers. What is behind a link is READ by the
// client itself, at the place that the link says, and no CPU of the server takes part.
//
// # Terms
//
//   - A generation is an image as it is served, and its number. Publish makes the next one.
//     It is current until the one after it, and then old until its memory is given back.
//   - The board is a place in the server's memory that says which generation is current, and
//     where its directory is. The directory says where the areas of a generation are, and has
//     its schema. Clients READ both.
//   - The lease is for how long a client may use the memory of a generation after it has
//     seen on the board that it is current.
//   - A visitor is the connection of a client that READs (package visit).
//   - A view is what a client knows of a generation: its directory, and until when its
//     lease lasts. A session works in one view.
//   - To chase a link is to READ the record behind it. To walk is to chase the links of
//     items, and those of the items behind them, breadth first. Several workers can walk
//     together, each with a session.
//
// # Invariants
//
//	E1  The memory of a generation does not change after it was published: areas and
//	    directory are complete before the board says where they are.
//	E2  The lease. A client that posted a READ of the board at t0 and found generation g may
//	    use bytes of g that it has looked at the clock for after they arrived, if it was
//	    before t0+Lease. The server looks at its clock when no board says g any more, and
//	    gives the memory of g back Lease and a quarter later: clocks may differ in speed by
//	    less than that, and where they began does not matter. So nobody is told, and
//	    a client that was paused throws away what it has read.
//	    Where the fabric lets it, a client decodes records where they are (fabric.Viewer)
//	    instead: they stay what they are under a view, so it looks at the clock after it has
//	    looked where they are. The board is always READ.
//	E3  A session renews its lease when half of it is over, beside its other READs. When
//	    the board says another generation then, the view lasts as long as the lease that it
//	    has.
//	E4  One operation is in one generation: an item, all of a list, all of a walk that is
//	    not Mixed. If the lease ends before it does and the generation is old, it fails with
//	    ErrGenerationOver. A link of another generation than the session's is ErrGeneration.
//	E5  Lookups are answered for generations whose memory is there. A core says that it is at
//	    one before it looks whether it is there, so memory is given back when no core has
//	    it.
//	E6  A generation that cannot be made changes nothing: the one before stays current, and
//	    the error says why. Its number is not used again.
//	E7  What is read is checked before it is used: the board by its checksum and by the
//	    generation at both its ends, the directory by its checksum, a record by kvl.ParseItem,
//	    and a link against the areas of the directory. What stays wrong is kvl.ErrCorrupt.
//	    A record that is decoded in place could be changed after that, by a server that breaks
//	    E1: then it says something else, and does no harm (K2).
//	E8  A visitor can READ the areas and directories of images, and the board; it can name
//	    no other memory.
//	E9  Memory is bounded at both ends: a server has at most Generations images (else
//	    Publish fails), a session Window+2 slots and, while it has a record that is longer, its
//	    buffer. The queues of a walk are what MaxItems allows and the links of its items,
//	    beside a bit for each 32 bytes of the areas that it has come to.
//	E10 Chase, on a session whose view lasts, allocates nothing.
//	E11 What fails because a connection is lost is tried again on a new one: reading twice
//	    does no harm.
//
// # Handshake
//
// Private data of a visitor, little-endian. The connection for lookups is that of rfp.
//
//	hello    | magic 2 "KL" | version 1 | 0 |
//	welcome  | magic 2 | version 1 | 0 | board: key 4 | board: address 8 | instance 8 |
//
// # Board
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
// The last word is written first, and the first one last. A READ looks at words in address
// order (G5): who finds the same generation at both ends has found nothing else between.
//
// # Directory
//
//	0   checksum     u32   CRC-32C of what follows
//	4   magic        u32   "KDIR"
//	8   generation   u64
//	16  areas        u32
//	20  schema       u32   its length
//	24  an area:  | address u64 | length u64 | key u32 | 0 u32 |   areas times
//	..  schema, as kvl.Schema has it
//
// # Calls
//
//	1 lookup   | generation u64, 0 the current one | key |
//	           | status u8 | 0 (7) | generation u64 | link (16) | record |
//	           status: 0 found, 1 found and too long to be sent: chase the link,
//	           2 no such key in that generation, 3 no such generation: the one that is current
//	2 info     | | -> JSON, see Info
//	3 stats    | | -> JSON, see Stats
//	4 reload   | | -> JSON: {"ended": n}, how many builds have ended, published or failed, when
//	           one has that began after the call. Failure 1024: clients may not ask
//
// # Threads
//
// A Server and a Client are for any goroutine, a Session for one at a time. The cores of
// the server are those of rfp; a goroutine, the keeper, gives memory back. Publish
// builds in the goroutine of its caller, one at a time. The workers of a walk together are
// goroutines that live as long as it. They share the bits that say what was visited, by atomics,
// and divide what is next between two levels, when only one of them runs. Everything waits in waiters of the
// fabric, but for the pauses between attempts to connect, and goes by the clock of its device.
//
// # Why not otherwise
//
// Clients could say which generation they use. Then one that dies has to be noticed, and
// each walk writes; a lease needs neither. The server could tell clients of a new generation:
// they would have to look for its message before every READ, instead of at the clock after it.
//
// Sessions could follow the board with every READ, by another one beside it. It would double
// the READs for what a look at the clock proves as well.
//
// The workers of a walk could each have bits of their own, and tell owners of places what they have
// found. That was tried: the loads of bits hit the cache more often, but each place is looked for
// by every worker and then by its owner, and in the end it was not faster.
//
// The READs could go through the queue pair of rfp. Then images would be in the domain of
// request memory, which is one for each session.
package keli

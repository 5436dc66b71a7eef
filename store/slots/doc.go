// Package slots is the table of the RDMA cache prototype: slots of 1024 bytes, FNV-1a
// and linear probing, which clients read by themselves.
//
// # Terms
//
// The table is an array of slots. A slot is empty, holds an item, or is a tombstone: an
// item was there, and searches go on behind it. The home of a key is the slot
// FNV-1a(key) mod N. Its window is the 64 slots from its home on (16 in Cache mode), over
// the end of the array to its beginning; the key is in one of them or nowhere.
//
// Beside the slots, in private memory, the engine keeps a shadow of each: what it
// believes of the slot.
//
// # Layout
//
//	 0       1                 7        8               16
//	+-------+-----------------+--------+---------------+---------------------------+
//	| state | version, 48 bit | key    | access_count  | key, 112 bytes, a NUL and  |
//	|       |                 | length |               | NULs behind it             |
//	+-------+-----------------+--------+---------------+---------------------------+
//	 128                                1000    1004     1006    1008      1016
//	+----------------------------------+-------+--------+-------+---------+----------+
//	| value, up to 871 bytes, a NUL    | flags | value  |   0   | expires | checksum |
//	| behind it                        |       | length |       |         |          |
//	+----------------------------------+-------+--------+-------+---------+----------+
//
// It is the paper's slot, with what the paper leaves out in its padding and at the end of
// its value: so a value has at most MaxValue (871) bytes, and not 895, and a key at most
// MaxKey (111). What is longer is ErrTooLarge, and nothing is written. Keys and values may
// hold NULs; their lengths tell where they end. Numbers are little-endian. The checksum is
// XXH3 of bytes 0 to 7, 1000 to 1015, and 16 to the NUL behind the value: of all but
// access_count, which clients change.
//
// The memory is divided into 1080 bytes a slot, 1024 that are exported and a shadow of 56,
// and the number of slots is fixed at New. The paper's 4096 slots are a memory of
// 4,427,776 bytes.
//
// # Invariants
//
//	O1  Slots, shadows and the Table itself, for which 4 KiB are set aside, are at most
//	    Config.Memory. Nothing is taken from the arena after New.
//	O2  An item is in the window of its key, and no slot between its home and itself is
//	    empty. It stays in its slot until it is deleted, evicted or has expired.
//	O3  Bytes 0 to 7 change at once. A slot becomes an item by them after everything else
//	    has been written, and stops to be one by them before anything else is. While an
//	    item is replaced or touched, the slot remains one that holds an item of this key.
//	O4  A tombstone becomes empty only where the slot behind it is empty.
//	O5  A Finder believes of a slot that holds an item only what fits the checksum. If it
//	    does not, the slot was read while it was changed, and is read again: at most 8
//	    times in a search, then it says Ask.
//	O6  What the engine does follows from shadows alone. What clients can write is looked
//	    at twice: the bytes of keys and values, which count only if the checksum in the
//	    shadow fits, and access_count, which is a hint.
//
// # Why a miss is proven
//
// A Finder reads the slots of a window in their order until one is empty, or to the end.
// If the key was there all the time, then it was in one slot (O2). That slot is before the
// first empty one, at whatever time the Finder came by (O2, O4); so it read the slot, and
// it showed the key, or did not fit its checksum (O3). Where it says Missing, the key was
// not there for a moment. To shift items back when one is deleted, instead of tombstones,
// would move them behind a reader's back: it has read the slot that the item moves to, and
// finds the one that it was in empty.
//
// What is Found was there since Start: its key is compared in full, and bytes of two items
// do not fit a checksum of 64 bits. Memory that is used again has another version, which
// the checksum covers.
//
// # Whom this trusts
//
// Clients count uses by FETCH_ADD on access_count, in the middle of the slot. So they must
// be able to write the area, all of it where it is shared memory (fabric shm), and on a
// network a client that can add can mostly write. That is the paper's design and what it trusts:
// a client that scribbles can make others miss items, and one that computes checksums can
// make them find what it likes, in their own READs and in what the server answers from a
// slot that it was just writing. It cannot make the engine fail, read outside, lose its
// count, or change an item that it did not scribble over (O6): an item that does not fit
// its checksum any more is lost when the engine comes across it. A server that does not trust all
// clients alike takes another engine.
//
// # When a window is full
//
// First of all what has expired in it gives up its slot. Then a store refuses the item
// with ErrFull. A cache evicts one of the window: the one with the fewest points, the
// oldest of several. An item has none when it is put. A use is 8 points, of at most 64
// uses, and the item loses one with each eviction in its window that it survives; so what
// was used once outlives 8 others. Uses are the calls of Get and Touch and what clients
// added to access_count since it was looked at last. With the eviction FIFO points do not
// count.
//
// Linear probing at a fill of a reads (1 + 1/(1-a))/2 slots for a key that is there: 1.2
// at the paper's 1024 keys in 4096 slots, 1.5 at a half, 2.5 at three quarters
// (TestProbes). A cache that evicts is full: half a window is read on average. A store of
// 4096 slots refuses its first item at a fill of about 0.74, one of 30,000 at 0.68
// (TestFirstRefusal), and a few in a thousand at three quarters.
//
// # Collisions
//
// FNV-1a is not keyed: a client that chooses keys can have them meet in one window. That costs a
// window of slots per call, and ErrFull or evictions for the keys in it, no more (S8).
//
// # Threads
//
// One goroutine at a time, see package store; clients read, and add, at any time.
package slots

// Package slots is the table of the RDMA cache prototype: slots of 1024 bytes, FNV-1a
// and linear probing, with READs by clients.
//
// # Terms
//
// The table is an array of slots. A slot is empty, holds an item, or is a tombstone: it
// held an item, and searches continue behind it. The home of a key is the slot
// FNV-1a(key) mod N. Its window is the 64 slots from its home on (16 in Cache mode),
// wrapping around at the end of the array. A key is in its window or does not exist.
//
// Beside the slots, in private memory, the engine keeps a shadow of each: a copy of its
// state that clients cannot change.
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
// It is the paper's slot; fields that the paper lacks are in its padding and at the end of
// its value. So a value has at most MaxValue (871) bytes instead of 895, and a key at most
// MaxKey (111). Longer ones fail with ErrTooLarge. Keys and values may
// hold NULs; their lengths tell where they end. Numbers are little-endian. The checksum is
// XXH3 of bytes 0 to 7, 1000 to 1015, and 16 to the NUL behind the value: of all but
// access_count, which clients change.
//
// A slot takes 1080 bytes of memory, 1024 exported and 56 for its shadow. The number of
// slots is fixed at New. The paper's 4096 slots take 4,427,776 bytes.
//
// # Invariants
//
//	O1  Slots, shadows and the Table itself, for which 4 KiB are reserved, take at most
//	    Config.Memory. New allocates all memory.
//	O2  An item is in the window of its key, and no slot between its home and itself is
//	    empty. It stays in its slot until it is deleted, evicted or has expired.
//	O3  Bytes 0 to 7 change in a single store. It is the last store that makes a slot hold
//	    an item, and the first that makes it not hold one. While an item is replaced or
//	    touched, the slot keeps holding an item of this key.
//	O4  A tombstone becomes empty only if the slot behind it is empty.
//	O5  A Finder accepts a slot that holds an item only if its checksum matches. If not, the
//	    slot changed while it was read, and is read again; after 8 times in a search the
//	    outcome is Ask.
//	O6  The engine decides by shadows alone. Of memory that clients can write it uses only
//	    keys and values, which count only if the checksum in the shadow matches, and
//	    access_count, which is a hint.
//
// # Why a miss is proven
//
// A Finder reads the slots of a window in order until one is empty, or to the end. If the
// key exists all the time, it is in one slot (O2), which is before the first empty one
// whenever the Finder reads them (O2, O4). So the Finder reads that slot, and either finds
// the key or a checksum that does not match (O3). If the outcome is Missing, the key did
// not exist for a moment. Shifting items back on a deletion, instead of leaving tombstones,
// would break this: an item may move to a slot that the Finder has read already, so that the
// Finder finds its old slot empty.
//
// An item that is Found existed since Start: its key is compared in full, and a mix of two
// items does not match a checksum of 64 bits. A slot that is used again has another
// version, which the checksum covers.
//
// # Trust
//
// Clients count uses by FETCH_ADD on access_count, in the middle of the slot. So they must
// be able to write the area: all of it if it is shared memory (fabric shm), and on a
// network adapter the right to add mostly includes the right to write. The paper's design
// trusts clients likewise. A client that writes garbage can make others miss items. One that
// computes checksums can make others find what it likes, in their own READs and in what the
// server answers from a slot that it was just writing. It cannot make the engine fail, read
// outside its memory, miscount, or change an item that it did not write over (O6). The
// engine drops an item that does not match its checksum. If not all clients are trusted
// alike, use another engine.
//
// # When a window is full
//
// First an expired item in it is dropped. If there is none, a store refuses the new item
// with ErrFull. A cache evicts the item of the window with the fewest points, the oldest of
// several. A new item has no points. Each use gives 8 points, up to 64 uses, and each
// eviction in the window takes one; so an item that was used once outlives 8 others. Uses
// are calls of Get and Touch, and what clients have added to access_count since it was last
// read. With the eviction FIFO points do not count.
//
// Linear probing at a load of a reads (1 + 1/(1-a))/2 slots for an existing key: 1.2 at the
// paper's 1024 keys in 4096 slots, 1.5 at a half, 2.5 at three quarters (TestProbes). A
// cache that evicts is full: it reads half a window on average. A store of 4096 slots refuses
// its first item at a load of about 0.74, one of 30,000 at 0.68 (TestFirstRefusal), and a
// few in a thousand at three quarters.
//
// # Collisions
//
// FNV-1a is not keyed: a client can choose keys that share a window. That costs a window of
// slots per call, and ErrFull or evictions for the keys in it, no more (S8).
//
// # Threads
//
// One goroutine at a time uses a Table (package store); clients read, and add, at any time.
package slots

// Package mica is the engine of the default: a circular log of items, and an
// index into it. It follows MICA: a Get touches a line of the index and the item,
// a Put appends; what is oldest is evicted, and no free lists are kept.
//
// # Terms
//
//   - The log holds the items in the order in which they were written. The head
//     is where the next one goes, the tail is the oldest. In a Cache it is a
//     ring: when the head meets the index it turns to the start of the log, and
//     items at the tail make room. In a Store it is a heap that is kept dense.
//   - An item is live if an entry of the index refers to it, and dead if it was
//     deleted, replaced or displaced. Dead items keep their memory until the tail
//     passes them.
//   - A granule is the unit of the log: 8 bytes, more for memory from 32 GiB on.
//     A position is an offset in granules, which fits into 32 bits; 0 is nil.
//   - A line is 64 bytes of the index, and a bucket one line or a chain of them.
//     What follows the first line are overflow lines.
//   - To spare an item (SecondChance) is to move it from the tail to the head,
//     because it was used. To slide it is the same move.
//   - A pass slides all items of a Store down to the start of the log, a bit with
//     each Put, and leaves out the dead ones.
//
// # Memory
//
// A table is one block. Items grow up from its start, lines down from its end;
// pages between them that were never used cost nothing. Together they may take
// all of it, so there is no size of an index to choose.
//
//	0    64                                                        Size
//	+----+---------------------------+- - - - -+---------+-----------+
//	| 0  | log                       |         | overflow| buckets   |
//	+----+---------------------------+- - - - -+---------+-----------+
//	      start                       top        bottom   line n-1 .. 0
//
//	line    0            12         16                                       64
//	        +------------+----------+----------------------------------------+
//	        | 12 tags    | next: 4  | 12 positions of 4 bytes                |
//	        +------------+----------+----------------------------------------+
//	        of an overflow line, the last position is the line before it
//
//	item    0      4         8                               16
//	        +------+---------+-------------------------------+- - - -+- - - -+-----+-------+---+
//	        | CRC  | version | meta                          | flags | expiry| key | value | 0 |
//	        | 4    | 4, low  | 8                             | 4     | 8     |     |       |   |
//	        +------+---------+-------------------------------+- - - -+- - - -+-----+-------+---+
//
//	meta    bit 0  16 version, upper bits     bit 59  has flags
//	        bit 16 16 length of the key       bit 60  has an expiry
//	        bit 32 27 length of the value     bit 61  used        bit 62 live
//
// All numbers are little endian. Items are padded with zeros to granules.
//
// # The index
//
// It is a linear hash table: bucket h mod 2^k, or h mod 2^(k+1) for buckets that
// have been split in this round. A Put splits at most one bucket, and a removal
// merges one, so nothing is ever rehashed as a whole. A tag is 8 bits of the hash
// that neither choose the bucket nor the partition; the tags of a line are
// compared all at once.
//
// A caller that hints at items has their entries found before it gets them. A table keeps these
// leads until the next call that may move or remove an item, so that Get compares the key
// and need not search.
//
// The index has a line for every 65/8 items, 7.9 bytes for each of them, counted
// with overflow lines. Lines are packed: those of the buckets first, overflow
// lines behind them, and one that becomes free is filled with the last. So when
// a round of splits begins buckets hold 18 items in 1.8 lines, and when it ends 9
// in 1.1, at the same price. Four to nineteen of a hundred items are in an
// overflow line. With the header of 16 bytes an item of 16 + 32 bytes costs 23.9
// bytes more than that.
//
// # Invariants
//
//	M1  logStart <= log <= index <= end of the block. The block and the Table are
//	    smaller than Config.Memory (S4).
//	M2  An entry refers to a live item, and each live item has exactly one entry,
//	    which is in the bucket and has the tag of the hash of its key. Therefore
//	    Put does not believe in the hash that comes with a key.
//	M3  No two live items have the same key.
//	M4  The checksum of an item (CRC-32C) is over all of it but itself, taken as
//	    neither used nor live, padding included. It is right also when the item is
//	    dead. An item is marked as not live before it is changed in place, and its
//	    meta word, which makes it live, is written last.
//	M5  Lines 0 to n-1 are the first lines of n buckets, and every line behind
//	    them belongs to exactly one bucket. Only the last line of a bucket has
//	    room, and entries come first in it.
//	M6  A bucket has at most 8 lines (89 entries), and at most 32 entries of one
//	    hash. What is beyond is refused by a Store, and takes the place of the
//	    oldest item of the bucket in a Cache, or of its hash if those are too many
//	    (S8).
//	M7  In a Cache with FIFO items are evicted in the order in which they were
//	    written, but for those of M6 and those displaced while the index waits for
//	    memory. A Put spares 8 items on average and 128 at most.
//	M8  Whether a Store takes an item depends on what is in it, not on where it is:
//	    it leaves a sixteenth of its memory free, or an expiry for each item that
//	    has no room for one, so that Touch never fails. The work of a Put is
//	    bounded by its size: near the limit it slides about 60 bytes for each byte
//	    that it puts, if the others before it have left as much garbage, and less
//	    with more free memory.
//	M9  While a call has key or value in the log (S5), items of a Store that are
//	    moved take it with them, none is reclaimed, and in a Cache none is moved.
//	M10 Where an item was that is gone or has been moved, there is no live item: it is
//	    marked before its memory is used for anything else, and before the call
//	    returns. So a client that reads that memory later by an old link finds no item, or
//	    another one, which has another version.
//
// # The border
//
// Log and index grow towards each other until they meet. Then the log of a Cache
// turns, and leaves as many lines as the index should have: for its items and
// those that were displaced for want of a line since the log turned before, or
// for as many items as fit of the size that was put lately. So when items become
// smaller, the first of them displace each other; each that does lets the tail
// hurry on, and when it has come around the index gets what it wants. When they
// become larger, buckets are merged and the log goes further.
//
// # Threads
//
// A Table is used by one goroutine at a time. Others may read its memory, as a
// remote reader does (Finder): it follows a link to an item, and proves by key,
// version, state and checksum that what it has read is whole and is still there. It
// does not search in the index, where lines and items move: what it has no link to,
// and what is not where the link says, the server is asked for.
//
// # Why not otherwise
//
// MICA evicts lazily: an entry is found out to be void when it is used. Here the
// tail removes entries as it passes, which costs a hash and a line that is
// prefetched, but keeps the number of items true, the index dense, and a Store
// possible at all.
//
// Entries of 6 bytes, 10 to a line, would have tags of 16 bits. But buckets with
// their own overflow lines cannot reach 0.8 with 10 entries, at no point of a
// round, and 24 bytes an item cannot be kept; and 8 bits suffice: one Get in fifty
// reads an item in vain.
//
// A Store could keep free lists and never move an item. But then how much fits
// depends on history, and views of large values need them in one piece.
//
// An item that is written over another in place keeps its age. With FIFO that
// would be wrong, so there it is appended; with SecondChance it counts as used.
package mica

// Package mica is the default engine: a circular log of items, and an index into it. It
// follows MICA: a Get touches a line of the index and the item, a Put appends, and the
// oldest items are evicted, so that no free lists are needed.
//
// # Terms
//
//   - The log holds the items in the order in which they were written. The head
//     is where the next item goes, the tail is the oldest item. In a Cache the log is a
//     ring: when the head meets the index it turns to the start of the log, and
//     items at the tail make room. In a Store it is a heap that is kept dense.
//   - An item is live if an entry of the index refers to it, and dead if it was
//     deleted, replaced or displaced. Dead items keep their memory until the tail
//     passes them, or an item before them grows into it.
//   - A granule is the unit of the log: 8 bytes, more for memory from 32 GiB on.
//     A position is an offset in granules, which fits into 32 bits; 0 is nil.
//   - A line is 64 bytes of the index. A bucket is a chain of lines; those behind the
//     first are overflow lines.
//   - To spare a used item (SecondChance) is to move it from the tail to the head. To
//     slide an item is the same move.
//   - A pass slides all live items of a Store down to the start of the log, a few with
//     each Put.
//
// # Memory
//
// A table is one block. Items grow up from its start, lines down from its end;
// unused pages between them cost nothing. Either may use all of the block, so there is
// no index size to configure.
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
//	        in an overflow line, the last position is the number of the line before it
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
//	                                          bit 63  has one granule more than it needs
//
// All numbers are little endian. Items are padded with zeros to granules.
//
// # The index
//
// It is a linear hash table: bucket h mod 2^k, or h mod 2^(k+1) for buckets that
// have been split in this round. A Put splits at most one bucket and a removal
// merges one, so the table is never rehashed as a whole. A tag is 8 bits of the hash
// that choose neither the bucket nor the partition; one comparison checks all tags of a
// line.
//
// PrefetchItems finds entries before Get asks for them. The table keeps these lookups
// until the next call that may move or remove an item, so that Get only compares the key.
//
// The index has one line, overflow lines included, for every 65/8 items: 7.9 bytes per
// item. Lines are packed: the first lines of buckets, then overflow lines; the last line
// fills the place of a freed one. When a round of splits begins, a bucket holds 18 items
// in 1.8 lines; when it ends, 9 in 1.1, at the same cost. Overflow lines hold 4 to 19 %
// of the items. With the header of 16 bytes, an item costs 23.9 bytes beyond a key of 16
// and a value of 32 bytes.
//
// # Invariants
//
//	M1  logStart <= log <= index <= end of the block. The block and the Table are
//	    smaller than Config.Memory (S4).
//	M2  An entry refers to a live item, and each live item has exactly one entry,
//	    in the bucket and with the tag of the hash of its key. Therefore Put does not
//	    trust the hash that comes with a key.
//	M3  No two live items have the same key.
//	M4  The checksum of an item (CRC-32C) covers all of it but itself, padding included,
//	    with the bits used and live cleared. It is right for dead items too. An item is
//	    marked as not live before it is changed in place, and its meta word, which makes
//	    it live, is written last.
//	M5  Lines 0 to n-1 are the first lines of n buckets, and every line behind
//	    them belongs to exactly one bucket. Only the last line of a bucket has
//	    room, and its entries come first.
//	M6  A bucket has at most 8 lines (89 entries), and a Put adds none where 32 entries
//	    have its tag. A Store refuses an item beyond that. In a Cache the item replaces the
//	    oldest one of the bucket, or of its tag if that has too many (S8). To find that out
//	    takes the lines of the bucket, and no hash of any other key.
//	M7  A Cache with FIFO evicts items in the order in which they were written, except
//	    for M6 and for items displaced while the index waits for memory. A Put spares 8
//	    items on average and 128 at most.
//	M8  Whether a Store accepts an item depends on what it holds, not on where. It keeps
//	    a sixteenth of its memory free, or more if all items without room for an expiry
//	    could need it, so that Touch never fails. The work of a Put is bounded by its
//	    size: near the limit it slides about 60 bytes for each byte put, if earlier Puts
//	    left as much garbage, and fewer with more free memory.
//	M9  While the key or value of a call is a view of the log (S5), a Store that moves
//	    items adjusts the view and reclaims none, and a Cache moves none.
//	M10 Where an item was evicted, deleted or moved away, there is no live item: it is
//	    marked as dead before its memory is reused, and before the call returns. So a
//	    client that later follows an old link finds no item, or one with another version.
//
// # The border
//
// Log and index grow towards each other until they meet. Then the log of a Cache turns,
// and leaves the index as many lines as it should have: enough for the present items and
// those displaced for want of a line since the last turn, or for as many items of the
// recent average size as fit, whichever is more. So when items become smaller, the first
// of them displace each other; each displacement advances the tail, and when it has come
// around, the index has its lines. When items become larger, buckets are merged and the
// log extends further.
//
// # Threads
//
// One goroutine at a time uses a Table. Clients may read its memory meanwhile (Finder): a
// Finder follows a link to an item, and verifies by key, version, state, checksum and the hash that the link
// has of the value that it has read the item, whole and still live. Of half of a change, one in
// 2^64 would pass; only an expiry that Touch changes has the checksum alone. It does not search the index, where lines
// and items move: without a valid link the client asks the server.
//
// # Why not otherwise
//
// MICA evicts lazily: a stale entry is noticed when it is used. Here the tail removes
// entries as it passes. That costs a hash and a prefetched line for each item, but keeps
// the count of items right and the index dense, and makes a Store possible.
//
// Entries of 6 bytes, 10 to a line, would have room for tags of 16 bits. But then lines
// would never be filled to 0.8 at any point of a round, and an item would cost more than
// 24 bytes. Tags of 8 bits suffice: one Get in fifty reads an item in vain.
//
// A Store could keep free lists and never move an item. But then how much fits would
// depend on history, and views of large values need contiguous memory.
//
// An item that overwrites another in place keeps the place, and so the age, of the old
// one. With FIFO that would be wrong, so the item is appended; with SecondChance it
// counts as used, and takes the old place if it fits there, together with dead items behind it.
// What it does not need becomes a dead item, or one granule of padding, which is too
// small for an item. A Store overwrites items of the same size only (M8). Half of the operations being
// puts of eight keys of 100 to 1000 bytes, in a cache of 4 MiB, a put took 0.6 bytes of the log instead of
// 596, and 91 % of the gets hit instead of 67 (BenchmarkHotKey).
//
// A Get leaves an expired item where it is. The log cannot give its room to other
// items before the tail comes there, which does not spare it, but the next Put of its key takes
// the place. Items that Get removed would be appended by that Put: where half of the keys
// expire after 5,000 gets, 69.0 % of all gets hit then instead of 70.8, and after
// 50,000 gets 79.7 % instead of 80.2.
//
// M6 counts tags and not hashes, though some keys with one tag may have come together by
// chance: a bucket has 18 entries on average at most, of 256 tags. To compare hashes, all
// keys of a tag have to be hashed, which cost six times the Put of a key of 64 KiB.
package mica

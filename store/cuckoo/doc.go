// Package cuckoo is Pilaf's table: a 3-way cuckoo index over items in extents, both with
// CRC64 checksums, so that clients can find items by READs alone.
//
// # Terms
//
// The index is an array of buckets of one entry each. A key may be in three of them: its
// first choice, which is its home, its second and its third. An entry holds the offset,
// length and version of an item, and a tag, which determines the choices.
//
// Items are in item memory, which package extent divides into blocks.
//
// A key that is not at home has spilled. A bucket counts the keys that have spilled from
// it, and its own changes (its stamp).
//
// A Finder runs at the client. It gets the results of READs: an image of a bucket or of an
// item, which may be torn by a concurrent change.
//
// The hash of a key is mixed with a salt made from Config.Seed; the highest 41 bits of the
// result are the tag. The tag, mixed twice more, gives three numbers of 32 bits. Each,
// as a fraction of 2^32 scaled to the number of buckets, is a choice; a choice equal to an
// earlier one moves on by a bucket. So an entry can be moved without reading its item, and
// hashes with common bits do not collide.
//
// # Layout
//
// Area 0 is the index, area 1 item memory. Numbers are in the byte order of the machine,
// which is little-endian wherever Remora runs. A bucket:
//
//	 63          48 47                                              0
//	+--------------+-------------------------------------------------+
//	| spilled keys | version, 0 in an empty bucket                   |   0
//	+--------------+-----+-------------------------------------------+
//	| stamp, 28 bits     | offset of the item / 16                   |   8
//	+--------------------+--------------------+----------------------+
//	| tag, 41 bits                            | length / 16, 23 bits |  16
//	+-----------------------------------------+----------------------+
//	| CRC64 of the 24 bytes before                                   |  24
//	+----------------------------------------------------------------+
//
// The CRC begins with 0, so that zeroed memory is an index of empty buckets. An item,
// in its block:
//
//	 0        8        16       24       26           32     40        48      52       56
//	+--------+--------+--------+--------+------------+------+---------+-------+--------+-----+-------+
//	| block, | CRC64  | CRC64  | key    | version,   | hash | expires | flags | value  | key | value |
//	| used   | of the | of key | length | 48 bits    |      |         |       | length |     |       |
//	|        | header | and    |        |            |      |         |       |        |     |       |
//	|        |        | value  |        |            |      |         |       |        |     |       |
//	+--------+--------+--------+--------+------------+------+---------+-------+--------+-----+-------+
//	         |<----------------------- what a Finder reads: length - 8 bytes ----------------------->|
//
// The CRC64 of the header covers bytes 16 to 55, including the CRC64 of key and value, so Touch
// does not read the value. The polynomial is ECMA's.
//
// # Invariants of the memory
//
//	C1  Index, item memory and the Table itself, for which 4 KiB are reserved, take at
//	    most Config.Memory. New allocates all memory, and neither part grows.
//	C2  Between calls every item has exactly one entry, in one of the three choices of its
//	    key, with its version and its length; every entry has an item.
//	C3  All writes to the areas are whole words through package fence. The table reads
//	    nothing that others can write.
//	C4  Every change of a bucket writes its four words in ascending order, with the stamp
//	    increased by one. The CRC64 of an image that mixes two states does not match.
//	C5  A version belongs to one item (S2). The bytes of an item with one version change
//	    only in its expiry and its offset.
//
// # Order of stores
//
//	C6  Put of a new key: first the whole item, in a block that no entry names. Then room
//	    in the index (C9). Then, if the entry is not placed at home, home's count of
//	    spilled keys. Then the entry.
//	C7  Put of an existing key: first the new item, in another block; then the entry is
//	    overwritten; then the old block is freed. If there is no other block, the new
//	    item overwrites the old one, and then the entry is overwritten; meanwhile the old
//	    entry does not match the item, whose version differs.
//	C8  Delete and eviction: first the entry is cleared; then home's count is lowered, if
//	    the key had spilled; then the block is freed.
//	C9  Move of an entry: first the copy in the destination bucket, then the source bucket
//	    is cleared. If one of the two is home, the same write changes its count. So an
//	    existing key is in one of its choices at any time; and whenever it is not at home,
//	    home's count is not 0.
//	C10 Move of an item to another block: first the copy, then the entry, then the old
//	    block is freed.
//	C11 Touch: expiry and CRC64 of the header, in place. An image between the two does
//	    not match its checksum.
//	C12 A free block may be rewritten at once, and the links of the free list often have
//	    overwritten its checksums. A client that reads it by an old entry finds the item
//	    that the entry named, an item of another version, or bytes whose checksums do
//	    not match.
//
// # What a Finder proves
//
// Found: the Finder has an image of a bucket whose CRC64 matches, with the tag of the key.
// Then it has an image of the item with the entry's version and length, the key itself, and
// both CRC64. The entry existed when the bucket was read, which is after Start, so the item
// was the key's at that time (C2, C5). An item replaced, deleted or evicted before Start has
// no entry any more (E2), so its bytes in a free block are not read. An item touched before
// Start is where the entry says, so that its old expiry is not found.
//
// Missing, from one image: home does not have the key, and its count of spilled keys is 0
// (C9). This is how most searches for a missing key end (TestSpans).
//
// Missing, from five images: home, second, third, home again, second again; none has the
// key, and the stamps of home and second have not changed. So both were unchanged when the
// third was read, and the key was in none of the three (C9). Reading every choice twice
// without stamps would not prove this: an entry can move away and return.
// A stamp repeats after 2^28 changes of one bucket. A reader that pauses for exactly that
// many changes between two READs would be deceived.
//
// A checksum is no signature: a client that may put values could make one that looks like
// an item of another key to a reader with an outdated entry, if it guesses offset and
// version.
//
// If an image is invalid, the Finder reads again: a bucket, or for an item its bucket, which
// may have changed. After 16 READs the outcome is Ask. A table-wide counter of moves would
// cost a failing search two more READs of one hot word, and moves of other keys could make
// it fail.
//
// # When the index is full
//
// A new key whose three choices are taken moves others: a breadth-first search among 128
// buckets finds the shortest path of moves that ends at an empty bucket. With one entry
// per bucket and three choices such a path exists up to a load of 91 %; this search finds
// one up to about 85 % (TestFill). If there is none, a store first looks for an expired
// item on the known paths, then refuses the new one with ErrFull. A cache evicts the first
// item on these paths that was not used since it was written or spared; it spares those
// before it.
//
// # When the item memory is full
//
// A cache clears the blocks that follow the hand (MakeRoom of extent): second chance in the
// order of memory, which is the order of age. Used items are passed, or moved to a free
// block if there is one (Config.Eviction FIFO does neither). A store reclaims expired
// items, then moves others out of the way, and refuses the new item if that does not
// help.
//
// # How memory is divided
//
// The expected length of items decides (NewFor; New takes the papers' 16 + 32 bytes): four
// buckets for three items when the memory is full of such items. With New the index
// has 27 % of the memory, and an item of 48 bytes takes 112 bytes of item memory. Longer
// items leave some of the index idle; shorter ones fill it first.
//
// # Threads
//
// One goroutine at a time uses a Table (package store); any number of clients read what it
// exports. Get writes: it marks an item as used, in the head of its block.
//
// # Why not otherwise
//
//   - More than one entry per bucket allows a higher load but makes READs longer. Pilaf's
//     buckets have 32 bytes, and benchmarks here compare READs of 32 bytes.
//   - With a log as item memory, a cache would have to copy the items that it spares, and
//     a store to compact the log for a small Put.
//   - If entries had the marks of use, each Get would change memory that clients read.
//     READs by clients cannot set marks: they are not counted as uses.
package cuckoo

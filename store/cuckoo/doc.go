// Package cuckoo is Pilaf's table: a cuckoo index of three choices over items in
// extents, both with CRC64 checksums, so that clients find items by READs alone.
//
// # Terms
//
// The index is an array of buckets of one entry each. A key may be in three of them: its
// first choice, which is its home, its second and its third. An entry names an item: where
// it is, how long it is, its version, and the tag that the key's choices follow from.
//
// Items are in item memory, which package extent divides into blocks.
//
// A key that is not at home has spilled. A bucket counts the keys that have spilled from
// it, and its own changes (its stamp).
//
// A Finder is the half that runs at the client. It is given what READs return: an image
// of a bucket or of an item, which may be half of a change.
//
// # Choices
//
// The hash of a key is mixed with a salt that is made from Config.Seed. The highest 41
// bits of that are the tag. The tag, mixed twice more, gives three numbers of 32 bits, and
// their fractions of 2^32, of all buckets, are the three choices; where two would be the
// same, the later one moves on by a bucket. So an entry can be moved without a look at its
// item, and hashes that have bits in common do not collide.
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
// The CRC begins with 0, so that memory of zeros is an index of empty buckets. An item,
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
// The CRC64 of the header covers bytes 16 to 55, that of key and value included; so Touch
// does not read the value. The polynomial is ECMA's.
//
// # Invariants of the memory
//
//	C1  Index, item memory and the Table itself, for which 4 KiB are set aside, are at
//	    most Config.Memory. Nothing is taken from the arena after New, and neither part
//	    grows.
//	C2  Every item has exactly one entry when no call is under way, in one of the three
//	    choices of its key, with its version and its length; every entry has an item.
//	C3  All that is in the areas is written by whole words through package fence, and
//	    nothing that others could write is read.
//	C4  Every change of a bucket writes its four words in ascending order, with a stamp
//	    that is one more than before. An image of two states does not have the CRC64 of
//	    either.
//	C5  A version is the version of one item (S2), and the bytes of an item of one
//	    version differ in its expiry only, and in where they are.
//
// # Order of stores
//
//	C6  Put of a new key: first the item, whole, in a block that no entry names. Then room
//	    in the index (C9). Then, if it does not go home, home's count of spilled keys.
//	    Then the entry.
//	C7  Put of a key that is there: first the new item, in another block; then the entry
//	    is overwritten; then the old block is free. Only where there is no other block the
//	    new item is written over the old one, and then the entry: the item that the old
//	    entry names does not prove itself meanwhile, since its version is another.
//	C8  Delete and eviction: first the entry is cleared; then home's count, if the key had
//	    spilled; then the block is free.
//	C9  A move of an entry: first the copy in the bucket it goes to, then the bucket it
//	    comes from is cleared. If one of the two is home, that same store changes its
//	    count. So a key that is there is in one of its choices at any time; and whenever
//	    it is not at home, home's count is not 0.
//	C10 A move of an item to another block: first the copy, then the entry, then the old
//	    block is free.
//	C11 Touch: expiry and CRC64 of the header, in place. An image between the two does
//	    not prove itself.
//	C12 A block that is free may be written at once, and often has lost its checksums to
//	    the links of free blocks already. A client that reads it by an old entry finds the
//	    item that the entry named, or something of another version, or something whose
//	    checksums do not fit.
//
// # What a Finder proves
//
// Found: an image of a bucket whose CRC64 fits, with the tag of the key; then an image of
// the item with the entry's version and length, the key itself, and both CRC64. The entry
// was there when the bucket was read, which is after Start, so the item was the key's at
// that time (C2, C5). What was replaced, deleted or evicted before Start has no entry any
// more (E2), and its bytes, however long they stay in a free block, are not looked at.
// What was touched before Start is at the place that the entry names, so that its old
// expiry is not found.
//
// Missing, from one image: home does not have the key, and its count of spilled keys is 0
// (C9). This is how most searches for a missing key end (TestSpans).
//
// Missing, from five images: home, second, third, home again, second again; none has the
// key, and home and second have the stamps that they had. So both were the same at the
// time when the third was read, and the key was in none of the three (C9). Two looks at
// every choice without stamps would not prove this: an entry can go and come back.
// A stamp comes back after 2^28 changes of one bucket, and a reader that sleeps just that
// long between two READs would be deceived if they were exactly as many.
//
// A checksum is no signature: a client that may put values could make one that looks like
// an item of another key to a reader whose entry is out of date, if it guesses place and
// version.
//
// An image that does not prove itself is asked for again: a bucket at its place, an item
// by its bucket, which may have changed. After 16 READs the Finder says Ask. A counter of
// moves for the whole table would cost a search that fails two READs of one hot word
// beside its three, and would let it fail by moves of other keys.
//
// # When the index is full
//
// A new key whose three choices are taken moves others: the shortest way of moves that
// ends at an empty bucket is looked for, breadth first, among 128 buckets. With one entry
// for a bucket and three choices there is such a way up to a fill of 91 %; ours is found
// up to about 85 % (TestFill). If there is none, a store refuses the item with ErrFull,
// after it has looked for one that has expired on the ways it knows. A cache evicts the
// first item on these ways that was not used since it was written or spared, and those
// before it are spared once.
//
// # When the item memory is full
//
// A cache clears the blocks that follow the hand (MakeRoom of extent): second chance
// in the order of memory, which is that of age. Used items are passed or moved to a free
// block, if there is one (Config.Eviction FIFO does neither). A store reclaims what has
// expired, then moves items out of the way, and refuses the item if that does not
// help.
//
// # How memory is divided
//
// By the length of items that is expected (NewFor; New takes the papers' 16 + 32 bytes):
// three items for four buckets when the memory is full of such items. With New the index
// has 27 % of the memory, and an item of 48 bytes takes 112 of item memory. Longer items
// leave some of the index idle; shorter ones fill it first.
//
// # Threads
//
// One goroutine at a time uses a Table, see package store; any number read what it
// exports. Get writes: it marks an item as used, in the head of its block.
//
// # Why not otherwise
//
//   - More than one entry for a bucket gives a higher fill and longer READs; Pilaf has one
//     of 32 bytes, and what is compared with it here are READs of 32 bytes.
//   - Item memory as a log would have a cache copy what it spares, and a store compact the
//     log for a small Put.
//   - Marks of use in the entries would change what clients read with each Get, and
//     reads by clients cannot mark at all: they are not seen here.
package cuckoo

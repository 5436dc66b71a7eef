// Package lru8 is Jakiro's table: buckets of eight slots, strict LRU inside the
// bucket.
//
// # Terms
//
// The index is an array of buckets. A bucket is a cache line of eight slots; a
// slot is a word that names an item: where it is, a tag of its hash, and whether
// it was used. The low 32 bits of a hash choose the bucket, the 22 bits above
// them are the tag, the highest bits are left alone.
//
// Items are in item memory, which package extent cuts into blocks: an item, an
// overflow bucket (Store mode), or free.
//
// # Layout
//
// A slot, and a bucket in the order of use:
//
//	 63    62    61      40 39               0
//	+----+----+------------+------------------+      0 is an empty slot
//	|link|used|    tag     | offset / 16      |
//	+----+----+------------+------------------+
//
//	+------+------+------+------+------+------+------+------+
//	| most recent |      |      |      |      | least | empty |  64 bytes
//	+------+------+------+------+------+------+------+------+
//
// Item memory, with the offsets of blocks at multiples of 16, and 0 as nil:
//
//	0     16                                           end
//	+-----+-----------+-----------+--  --+-------------+-----+
//	|  -  |   block   |   block   |      |    block    | end |
//	+-----+-----------+-----------+--  --+-------------+-----+
//
//	 0      4          8          12         16      18           24
//	+------+----------+----------+----------+-------+-------------+
//	|length| length of| CRC of   | CRC of   | key   | version, 48 |
//	|, kind| the block| the      | key and  | length| bits        |
//	|      | before   | header   | value    |       |             |
//	+------+----------+----------+----------+-------+-------------+
//	 24                32         40         44            48
//	+-----------------+----------+----------+-------------+-------+-----+
//	| hash            | expires  | flags    | value length| key   |value|  item
//	+-----------------+----------+----------+-------------+-------+-----+
//
//	+------+----------+-------------------------------------------+-----+
//	|length| length of| a bucket of 8 slots                       |  -  |  overflow
//	|, kind| the block|                                           |     |
//	+------+----------+-------------------------------------------+-----+
//
// The CRC (Castagnoli) of the header covers bytes 12 to 47, that of the body
// included; so Touch does not read the value. Numbers are little-endian.
//
// # Invariants
//
//	L1  Index, item memory and the Table itself, for which 4 KiB are set aside,
//	    are at most Config.Memory. Nothing is taken from the arena after New.
//	L2  The slots in use of a bucket come first. In Cache mode they are in the
//	    order of use: slot 0 was put, got or touched last.
//	L3  In Store mode the last slot of a full bucket may be a link to an overflow
//	    bucket, which holds at least two items or an item and a link. There are
//	    at most 8 overflow buckets behind a bucket.
//	L4  Item memory is divided by package extent, and what holds of its blocks, lists
//	    and hand holds here.
//	L5  Freeing a block does not overwrite a key or a value (X2 of extent), so a
//	    view of a freed item stays readable until the block is written. A Put frees
//	    what it must, copies key and value, and cuts blocks last (X6); it does not
//	    move items if its key or value is a view.
//	L6  Every item has exactly one slot, in the bucket of its hash or behind it,
//	    and every slot that is no link names an item.
//	L7  A call looks at one bucket (at most nine in Store mode). A Put that has to
//	    make room looks at 32 more buckets or 64 more blocks, and clears as many
//	    bytes as it needs in one piece, in Store mode in up to 16 places.
//
// # When a bucket is full
//
// In Cache mode the last item goes: strict LRU, as in the paper. In Store mode
// the bucket grows an overflow bucket in item memory, so that an unlucky bucket
// does not refuse an item while there is memory: one bucket in 15 has one when
// the memory is full of items of the expected length. An item that has expired
// gives up its slot before that. A flood of equal hashes
// ends at 64 items with ErrFull (S8).
//
// # When the memory is full
//
// The bucket of a new item may have room, but the memory may not. Then a cache
// gives up
//
//   - the last items of the buckets whose turn it is, one after another, until
//     there is a block for the new item. An item that was used since it was
//     written or spared is spared once. With items of one length the first victim
//     makes the room, and what is lost is what the LRU of some bucket would lose.
//   - After 8 of those, or 32 buckets: what follows the hand in item memory, until
//     there is one piece that is long enough (the sweep). Used items among that
//     move to a block elsewhere, if there is one. This is for items that are
//     longer than their predecessors: victims that are strewn over memory add up
//     to bytes but not to a block.
//
// So there is no length for which the memory is lost (calcification), and no Put
// fails. The hit ratio is close to that of one exact LRU list over all items, for
// equal and for mixed lengths (TestHitRatio).
//
// A store reclaims what has expired, and then moves items out of the way (MakeRoom
// of extent): fragmented memory is joined at the price of copying about
// as many bytes as the new item has. It refuses the item if that does not help.
//
// # How many buckets
//
// The number of buckets is fixed by the memory and by the length of items that is
// expected (NewFor; New takes the papers' 16 + 32 bytes): five items for a bucket
// of eight when the memory is full. If the items are longer, some of the index is
// idle: with 1 KiB it is 11 % of the memory. If they are shorter, buckets are
// full before the memory is: a cache loses memory, a store grows chains.
//
// # Threads
//
// One goroutine at a time, see package store. Get writes: it moves a slot to the
// front.
//
// # Why not otherwise
//
//   - A list over all items (memcached) costs 16 bytes for an item and three cache
//     misses for a Get. The order inside a cache line costs nothing.
//   - Slab classes keep memory for lengths that are no longer used, and rounding up
//     costs a tenth of it; a circular log (package mica) evicts by age and has to
//     copy what it spares. Blocks of exact length with known neighbours can be
//     joined to any length.
//   - A compacting log has no fragmentation at all, but moves what is in the way
//     of the smallest Put, 64 MiB too. Here the work is bounded by the Put's own
//     length.
//   - An index that grows would have to take its memory from items, or rehash; and
//     how many items come is known better to the caller, who chose the memory.
//   - Config.Eviction is ignored: the table is LRU by design. For FIFO take mica.
package lru8

// Package lru8 is Jakiro's table: buckets of eight slots, strict LRU inside the
// bucket.
//
// # Terms
//
// The index is an array of buckets. A bucket is a cache line of eight slots; a
// slot is a word with the offset of an item, a tag of its hash, and a bit that says
// whether it was used. The low 32 bits of a hash choose the bucket, the 22 bits above
// them are the tag, and the highest bits are not used.
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
// The CRC (Castagnoli) of the header covers bytes 12 to 47, including the CRC of the
// body, so Touch does not read the value. Numbers are little-endian.
//
// # Invariants
//
//	L1  Index, item memory and the Table itself, for which 4 KiB are reserved,
//	    take at most Config.Memory. New allocates all memory.
//	L2  The used slots of a bucket come first. In Cache mode they are in the order of
//	    use: the item of slot 0 was put, got or touched last.
//	L3  In Store mode the last slot of a full bucket may be a link to an overflow
//	    bucket, which holds at least two items or an item and a link. A chain has at
//	    most 8 overflow buckets.
//	L4  The invariants of package extent hold for item memory.
//	L5  Freeing a block does not overwrite a key or a value (X2 of extent), so a
//	    view of a freed item stays readable until the block is rewritten. A Put first
//	    frees blocks, then copies key and value, and trims blocks last (X6). It does not
//	    move items if its key or value is a view.
//	L6  Every item has exactly one slot, in the bucket of its hash or its chain,
//	    and every used slot that is not a link names an item.
//	L7  A call reads one bucket (at most nine in Store mode). A Put that has to make
//	    room reads 32 more buckets or 64 more blocks, and clears as many bytes as it
//	    needs in one piece; in Store mode it tries up to 16 places.
//
// # When a bucket is full
//
// In Cache mode the last item is evicted: strict LRU, as in the paper. In Store mode
// the bucket gets an overflow bucket in item memory, so that an unlucky bucket
// does not refuse an item while there is memory: one bucket in 15 has one when
// the memory is full of items of the expected length. Expired items are dropped first.
// A flood of equal hashes ends at 64 items with ErrFull (S8).
//
// # When the memory is full
//
// The bucket of a new item may have room while the memory has none. Then a cache evicts
//
//   - the last items of some buckets, in turn, until there is a block for the new item.
//     An item that was used since it was written or spared is spared once. With items of
//     one length the first victim makes the room, and the loss is what the LRU of some
//     bucket would evict anyway.
//   - After 8 of those, or 32 buckets: the items that follow the hand in item memory, until
//     there is one piece that is long enough (the sweep). Used items among them are moved
//     to a free block, if there is one. This serves items longer than their
//     predecessors: scattered victims add up to enough bytes but not to a block.
//
// So no memory is bound to a length of items (calcification), and no Put fails. The hit
// ratio is close to that of one exact LRU list over all items, for equal and for mixed
// lengths (TestHitRatio).
//
// A store reclaims expired items, and then moves others out of the way (MakeRoom
// of extent): it defragments memory at the cost of copying about as many bytes as the new
// item has. It refuses the item if that does not help.
//
// # How many buckets
//
// The memory and the expected length of items fix the number of buckets (NewFor; New
// takes the papers' 16 + 32 bytes): five items for a bucket of eight when the memory is
// full. If items are longer, some of the index is idle: with 1 KiB it is 11 % of the
// memory. If they are shorter, buckets fill before the memory does: a cache then leaves
// memory unused, a store grows chains.
//
// # Threads
//
// One goroutine at a time uses a Table (package store). Get writes: it moves a slot to
// the front.
//
// # Why not otherwise
//
//   - A list over all items (memcached) costs 16 bytes per item and three cache
//     misses per Get. The order inside a cache line costs nothing.
//   - Slab classes keep memory for lengths that are no longer used, and rounding up
//     wastes a tenth of it. A circular log (package mica) evicts by age and has to
//     copy the items that it spares. Blocks of exact length with boundary tags can be
//     joined to any length.
//   - A compacting log has no fragmentation at all, but has to move up to 64 MiB for the
//     smallest Put. Here the work is bounded by the length of the item put.
//   - An index that grows would have to take its memory from items, or rehash; and the
//     caller, who chose the memory, knows best how many items to expect.
//   - Config.Eviction is ignored: the table is LRU by design. For FIFO use mica.
package lru8

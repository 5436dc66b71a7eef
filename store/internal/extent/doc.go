// Package extent is what the engines lru8, cuckoo and hopscotch share: all of a
// partition but its index.
//
// A Space divides memory into blocks of any length. It is a segregated-fit allocator with
// boundary tags, so that freed blocks join their neighbours. A Heap is a Space that holds
// items in its blocks (Record), and counts them. When memory is full, MakeRoom evicts items
// of a cache; in a store it reclaims expired items and moves others out of the way. Both
// move a hand round the memory, as the CLOCK algorithm does, and join neighbouring blocks.
// The table owns the index; the Heap asks it to unlink an item or to update its place (Table).
//
// # Layout
//
// Blocks begin at multiples of 16 (Unit), and 0 is nil:
//
//	0     16                                           end
//	+-----+-----------+-----------+--  --+-------------+-----+
//	|  -  |   block   |   block   |      |    block    | end |
//	+-----+-----------+-----------+--  --+-------------+-----+
//
//	 0           4           8
//	+-----------+-----------+-----------------------------------------+
//	| length,   | length of | the owner's                             |  in use
//	| kind      | the block |                                         |
//	|           | before    |                                         |
//	+-----------+-----------+---------------------+-------------------+
//
//	+-----------+-----------+----------+----------+-------------------+
//	| length,   | length of | next of  | previous | what the last     |  free
//	| kind      | the block | the bin  | of the   | owner left        |
//	|           | before    | or 0     | bin or 0 |                   |
//	+-----------+-----------+----------+----------+-------------------+
//
// Free blocks are in lists by length (bins). Behind the head of an item's block are the words
// of its table, such as checksums, and then a Record:
//
//	 63       16 15             0  63    0  63      0  31   0  63         32
//	+-----------+----------------+--------+----------+-------+--------------+-----+-------+
//	| version   | length of key  | hash   | expires  | flags | value length | key | value |
//	+-----------+----------------+--------+----------+-------+--------------+-----+-------+
//	|<---------- word ---------->|<-------------------- body ---------------------------->|
//
// # Invariants
//
//	X1  Blocks follow each other without a gap, and each holds the length of the one
//	    before it. No two free blocks are neighbours, unless they would join to more
//	    than 2 GiB.
//	X2  A Space writes only into the first 24 bytes (Links) of a block. Bytes behind them
//	    stay readable after Give, until the memory is taken, filled by its next owner, and
//	    cut by Trim.
//	X3  Every write is one whole word by fence.Publish64, since clients may read the memory
//	    at any time. The engine's checksums tell them whether what they read is consistent.
//	X4  The hand is always at the beginning of a block, or at the end block.
//	X5  Take, Give, Trim, Claim and Absorb take constant time.
//	    MakeRoom passes at most 16 used items or looks at 64 blocks for expired ones, and
//	    clears as many bytes as are needed in one piece; in a store it tries that in up to
//	    16 places.
//	X6  Fill and Write accept views of the memory. They copy a view before they change
//	    the bytes under it.
//
// # Why MakeRoom is in this package
//
// MakeRoom works on blocks: it reads heads, moves the hand and joins neighbours. It calls the
// functions of Table once for each block that it clears, and not at all when memory is free.
//
// # Threads
//
// One goroutine at a time writes.
package extent

// Package extent is shared by the engines lru8, cuckoo and hopscotch: all of a partition
// but its index.
//
// A Space divides a piece of memory into blocks of any length: a segregated-fit allocator
// whose blocks know their neighbours, so that freed blocks can be joined to any length again.
// A Heap is a Space with items in its blocks (Record), and counts them. When a table runs out
// of memory, MakeRoom evicts items of a cache, or reclaims what has expired in a store and
// moves what is in the way. Both go round the memory with a hand, as the CLOCK algorithm
// does, and join neighbouring blocks. The index is the table's, which the Heap asks to unlink
// an item or to lead to its new place (Table).
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
// Free blocks are in lists by length (bins). An item has the words of its table behind the
// head, such as checksums, and then a Record:
//
//	 63       16 15             0  63    0  63      0  31   0  63         32
//	+-----------+----------------+--------+----------+-------+--------------+-----+-------+
//	| version   | length of key  | hash   | expires  | flags | value length | key | value |
//	+-----------+----------------+--------+----------+-------+--------------+-----+-------+
//	|<---------- word ---------->|<-------------------- body ---------------------------->|
//
// # Invariants
//
//	X1  Blocks follow each other without a gap, and each knows the length of the one
//	    before it. Two free blocks are not neighbours, unless together they were longer
//	    than 2 GiB.
//	X2  A Space writes into the first 24 bytes (Links) of blocks only. What an owner has
//	    written behind them can be read after Give, until the memory is taken, filled by
//	    its next owner, and cut by Trim.
//	X3  Every write is one whole word by fence.Publish64: others may read the memory at
//	    any time. What they make of it is their business.
//	X4  The hand is at the beginning of a block, or at the end block, at all times.
//	X5  Take, Give, Trim, Claim and Absorb cost the same, whatever the memory holds.
//	    MakeRoom passes at most 16 used items or looks at 64 blocks for expired ones, and
//	    clears as many bytes as are needed in one piece; in a store it tries that in up to
//	    16 places.
//	X6  Fill and Write may be given views of the memory. They copy before they change
//	    anything that a view may show.
//
// # Why here
//
// Sweeping is about blocks: it reads heads, moves the hand and joins neighbours. The
// functions of Table are called once for a block that has to be cleared, not for an operation
// that finds room.
//
// # Threads
//
// One goroutine at a time writes.
package extent

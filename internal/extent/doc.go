// Package extent divides a piece of memory into blocks of any length, for engines that
// keep items in it: a segregated-fit allocator whose blocks know their neighbours, so
// that freed blocks can be joined to any length again.
//
// A table that runs out of memory has its Space make room: Evict for a cache, Reclaim for
// a store. Both go round the memory with a hand, as the CLOCK algorithm does, and join
// neighbouring blocks. What is in a block only the table knows, which expires, moves or
// evicts it when it is asked to (Items).
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
// Free blocks are in lists by length (bins).
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
//	    Evict and Reclaim pass at most 16 used items or look at 64 blocks for expired
//	    ones, and clear as many bytes as are needed in one piece; Reclaim tries that in
//	    up to 16 places.
//	X6  Fill and Write may be given views of the memory. They copy before they change
//	    anything that a view may show.
//
// # Why here
//
// Sweeping is about blocks: it reads heads, moves the hand and joins neighbours, and asks
// the table three questions. The functions of Items are called once for a block that has
// to be cleared, not for an operation that finds room.
//
// # Threads
//
// One goroutine at a time writes.
package extent

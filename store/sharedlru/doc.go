// Package sharedlru is one table for all cores under one lock, with one list of all
// items in the order of use: what memcached is at heart, and with it the systems that
// put RDMA in front of memcached. It is here to be compared with.
//
// # Terms
//
// A Table is shared by handles, one for each core; a Handle is that core's partition.
// Memory is cut into chunks of 128 bytes, all alike. An item is a chain of chunks, whose
// first one is its head. A free chain is a chain of chunks that no item uses. The index is
// an array of buckets, each of which names the first item of a list (a row).
//
// # Layout
//
// Chunks are named by their number; 0 is none. Numbers are little-endian. The head of an
// item, and what follows it:
//
//	 0      4      8       12      16          22       24
//	+------+------+-------+-------+-----------+--------+
//	| next | kind | CRC of| CRC of| version,  | key    |
//	| chunk|      | header| body  | 48 bits   | length |
//	+------+------+-------+-------+-----------+--------+
//	 24             32              40      44          48
//	+--------------+---------------+-------+-----------+
//	| expires      | hash          | flags | value     |
//	|              |               |       | length    |
//	+--------------+---------------+-------+-----------+
//	 48     52      56      60      64                128
//	+------+-------+-------+-------+---------------------+
//	| newer| older | next  | before| key, then value     |
//	| item | item  | of row| in row|                     |
//	+------+-------+-------+-------+---------------------+
//
//	+------+------+--------------------------------------+
//	| next | kind | key and value go on                  |  128 bytes
//	+------+------+--------------------------------------+
//
// The CRC (Castagnoli) of the header covers bytes 12 to 47. A free chain has its link to
// the next one where an item has the older one.
//
// # Invariants
//
//	H1  Everything but the view of a handle is touched with the lock of the table held,
//	    by every call, Get too: it changes the order.
//	H2  Index, chunks, the views of all handles and the Table itself, for which 4 KiB
//	    are set aside, are at most Config.Memory. Nothing is taken from the arena after
//	    New.
//	H3  Every chunk is reserved (number 0), fresh (never used), or in the chain of
//	    exactly one item or free chain.
//	H4  The list from newest to oldest holds every item once, in the order in which they
//	    were put, got or touched.
//	H5  Every item is in the row of its hash. A row has at most 64 items (S8).
//	H6  What Get and Each hand out lies in the view of the handle, which the next Get,
//	    Each or Close of that handle overwrites. No other handle writes there, and no
//	    call hands out memory of the table.
//	H7  A call looks at one row. A Put frees at most as many items as it needs chunks; in
//	    Store mode it looks at 64 chunks to find some.
//
// # Views
//
// A partition hands out views of its memory, which stay until that partition changes.
// Here any core may change what another one has just found. memcached counts references;
// this table copies the value with the lock held, which makes the lock last longer for
// long values, and the rest simple: a chain need not be in one piece, so that there is no
// fragmentation and no class of lengths, and the list alone decides what is evicted.
//
// # When the memory is full
//
// A cache gives up the oldest item until there are chunks enough: strict LRU over all
// items and all cores, whatever their lengths. A store reclaims what has expired among
// the next 64 chunks, and else refuses the item. The longest item is that which a view
// can hold: key and value together, at most 1/(2n+2) of the memory for n handles.
//
// # Threads
//
// A Handle is for one goroutine at a time, as every partition; different handles may be
// used at the same time. What a handle's Stats tell is its share of the table: items by
// the hash of their keys (store.PartitionOf), memory and index in equal parts. So sums
// over all handles are right. store.Incr is two calls: handles that may add to the same
// key at the same time have to put under the condition of a version themselves.
//
// # Why not otherwise
//
//   - Locks for parts of the table, and an order that is only about right, are what
//     memcached has developed since. They would not be the cache that this one stands for, and
//     partitions (package mica, lru8) need no lock at all.
//   - A lock that spins would be faster among cores of their own, and stands still where
//     two cores share a CPU.
//   - Config.Eviction is ignored: the table is LRU by design.
//   - There are no prefetch hints: they would have to take the lock, or read an index
//     that others write.
package sharedlru

// Package sharedlru is one table for all cores under one lock, with one LRU list over all
// items. That is how memcached and systems that put RDMA in front of it work in essence;
// the package exists for comparison with them.
//
// # Terms
//
// A Table is shared by handles, one for each core; a Handle is that core's partition.
// Memory is cut into chunks of 128 bytes. An item is a chain of chunks; the first is its
// head. A free chain is a chain of unused chunks. The index is an array of buckets, each
// of which points to the first item of a list, the row of the bucket.
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
// the next free chain where an item has the link to the older item.
//
// # Invariants
//
//	H1  Every call holds the lock of the table while it accesses anything but the view of
//	    its handle. Get does too, since it changes the LRU list.
//	H2  Index, chunks, the views of all handles and the Table itself, for which 4 KiB
//	    are reserved, take at most Config.Memory. New allocates all memory.
//	H3  Every chunk is reserved (number 0), fresh (never used), or in the chain of
//	    exactly one item or free chain.
//	H4  The LRU list, from newest to oldest, holds every item once, in the order in which
//	    they were last put, got or touched.
//	H5  Every item is in the row of its hash. A row has at most 64 items (S8).
//	H6  Get and Each return memory of the view of the handle, which the next Get, Each or
//	    Close of that handle overwrites. No other handle writes there, and no call
//	    returns memory of the table.
//	H7  A call reads one row. A Put frees at most as many items as it needs chunks; in
//	    Store mode it searches 64 chunks for expired items.
//
// # Views
//
// A partition usually returns views of its memory, which are valid until it changes.
// Here any core may change an item that another one has just found. memcached counts
// references. This table copies the value under the lock, which holds the lock longer for
// long values, but keeps the rest simple: a chain need not be contiguous, so there is no
// fragmentation and no size class, and the LRU list alone decides what is evicted.
//
// # When the memory is full
//
// A cache evicts the oldest items until there are enough chunks: strict LRU over all items
// and all cores, whatever their lengths. A store reclaims expired items among the next 64
// chunks, and otherwise refuses the new item. The longest item fits a view: key and value
// together, at most 1/(2n+2) of the memory for n handles.
//
// # Threads
//
// One goroutine at a time uses a Handle, like any partition; different handles may be used
// at the same time. A handle's Stats cover its share of the table: items by
// the hash of their keys (store.PartitionOf), memory and index in equal parts. So sums
// over all handles are right. store.Incr makes two calls: callers that may change the same
// key through several handles at the same time have to put under the condition of a version.
//
// # Why not otherwise
//
//   - Later versions of memcached have locks for parts of the table and an approximate LRU
//     order. This package stands for the original, and partitions (package mica, lru8) need
//     no lock at all.
//   - A spinning lock would be faster between cores with CPUs of their own, but stalls when
//     two cores share a CPU.
//   - Config.Eviction is ignored: the table is LRU by design.
//   - There are no prefetch hints: they would have to take the lock, or read an index
//     that others write.
package sharedlru

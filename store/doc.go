// Package store is the contract of engines: how items are kept in memory.
//
// # Terms
//
// A partition is one engine's table with its own memory. It belongs to one core
// of a server and is used by one goroutine at a time (EREW: nothing in it is
// locked). A server of N cores has N partitions; which one holds a key follows
// from the key's hash (PartitionOf).
//
// An item is a key, a value and what is known about them: a version, flags that
// the store does not interpret, and the time when it expires. A key has 0 to
// MaxKey bytes, a value up to Config.MaxValue; both may hold any bytes.
//
// A cache evicts items to make room (Cache); a store refuses new ones when it is
// full (Store). Neither exceeds its Config.Memory, index and items together.
//
// # Invariants
//
//	S1  Get returns what the last successful Put or Touch of that key left, or
//	    ErrNotFound: after Delete, after its expiry, and in Cache mode whenever
//	    the item was evicted. It never returns another key's value, an older
//	    value of this key, or part of one.
//	S2  Every successful Put gives the item a version that is larger than all
//	    versions this partition gave before, and never 0. Versions fit into 48
//	    bits. Touch and Get keep it.
//	S3  In Store mode a Put that returned no error is kept until it is deleted,
//	    replaced or expires. A Put that failed changed nothing: the item that was
//	    there is there, with its version.
//	S4  The bytes that the engine uses, all purposes together, never exceed
//	    Config.Memory.
//	S5  A view (Item.Value) aliases the engine's memory and is valid until the
//	    next call on the partition that may change it: Put, Delete, Touch, Close.
//	    What is passed in (keys, values) is copied before the call returns, and
//	    may alias a view of the same partition. The views of a shared table last
//	    until the next call of any kind on the partition.
//	S6  No call allocates on the Go heap, asks a clock or takes a lock. The time
//	    comes in as a parameter; it may stand still, and an engine tolerates that
//	    it steps back. Only a shared table takes a lock.
//	S7  Every item carries a checksum over its key, value and metadata. Check
//	    reads all of it again and tells what does not fit (ErrCorrupt).
//	S8  Colliding hashes, however many, cost at most a bounded amount of work per
//	    call and never a wrong answer. In Cache mode they may cost items; in Store
//	    mode they may cost an early ErrFull.
//
// # Shared tables
//
// An engine may have one table for all cores, of which each has a handle as its
// partition (package sharedlru). All of the above holds for a handle, and a change
// by one is seen by all. What handles share is behind a lock, so a view cannot be
// of that: it is a copy in memory of the handle. Stats and Each are about the
// handle's share of the table, so that sums over all handles are right.
//
// # Time
//
// Times are milliseconds since the Unix epoch, as int64. An item whose expiry is
// not 0 and not after now is gone: no call returns it, IfAbsent succeeds on it.
// Its memory is reclaimed when the engine comes across it.
//
// # Hashes
//
// A key comes with its hash, because the client has computed it to choose a
// core. It is keyed by a Seed that the server draws at its start, so that nobody
// outside can prepare keys that collide. Engines take the index from the low
// bits and tags from the middle; the highest bits choose the partition and are
// the same for all keys of one.
//
// # Why views
//
// A handler copies the value once, from the table into the result that the
// client fetches. An engine that filled a buffer would cost a second copy or
// would have to know of frames.
package store

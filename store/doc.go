// Package store defines the contract of engines, which keep items in memory.
//
// # Terms
//
// A partition is one engine's table with its own memory. It belongs to one core
// of a server, and one goroutine at a time uses it without locks (EREW). A server of
// N cores has N partitions; the hash of a key chooses its partition (PartitionOf).
//
// An item is a key, a value and metadata: a version, flags that the store does not
// interpret, and an expiry time. A key has 0 to MaxKey bytes, a value up to
// Config.MaxValue; both may hold any bytes.
//
// In Cache mode a partition evicts items to make room. In Store mode it refuses new
// items when it is full. It never exceeds Config.Memory, index and items together.
//
// # Invariants
//
//	S1  Get returns the item as the last successful Put or Touch of its key left it,
//	    or ErrNotFound: after Delete, after its expiry, and in Cache mode whenever
//	    the item was evicted. It never returns another key's value, an older
//	    value of this key, or part of one.
//	S2  Every successful Put gives the item a version larger than all versions that
//	    this partition assigned before, and never 0. Versions fit into 48 bits. Touch
//	    and Get keep the version.
//	S3  In Store mode an item that was Put without an error is kept until it is
//	    deleted, replaced or expires. A Put that fails changes nothing: an existing
//	    item stays, with its version.
//	S4  The bytes that the engine uses, all purposes together, never exceed
//	    Config.Memory.
//	S5  A view (Item.Value) aliases the engine's memory and is valid until the
//	    next call on the partition that may change it: Put, Delete, Touch, Close.
//	    Keys and values that are passed in are copied before the call returns, and
//	    may alias a view of the same partition. A view of a shared table is valid
//	    until the next call of any kind on the partition.
//	S6  No call allocates on the Go heap, reads a clock or takes a lock. The time
//	    is a parameter; it may stand still or step back. Only a shared table takes
//	    a lock.
//	S7  Every item carries a checksum over its key, value and metadata. Check
//	    verifies all of them and reports a mismatch (ErrCorrupt).
//	S8  Colliding hashes, however many, cost a bounded amount of work per call and
//	    never cause a wrong answer. They may cause evictions in Cache mode, and an
//	    early ErrFull in Store mode.
//
// # Shared tables
//
// An engine may have one table for all cores; each core then has a handle as its
// partition (package sharedlru). All of the above holds for a handle, and all handles
// see the changes of each. The shared table is behind a lock, so a view is a copy in
// memory of the handle. Stats and Each cover the handle's share of the table, so that
// sums over all handles are right.
//
// # Time
//
// Times are milliseconds since the Unix epoch, as int64. An item has expired if its
// expiry is not 0 and not after now: no call returns it, and IfAbsent succeeds. The
// engine reclaims its memory when it comes across the item.
//
// # Hashes
//
// A key comes with its hash, because the client has computed it to choose a
// core. The hash is keyed by a Seed that the server draws when it starts, so that
// nobody outside can prepare keys that collide. Clients know the seed: a server protects itself
// against keys that come through a client from elsewhere, and its other clients against one that makes
// keys collide only as far as S8 does. Engines take the index from the low
// bits and tags from the middle; the highest bits choose the partition and are
// the same for all keys of a partition.
//
// # Why views
//
// A handler copies the value once, from the table into the result that the
// client fetches. An engine that filled a buffer would have to copy the value twice,
// or to know about frames.
package store

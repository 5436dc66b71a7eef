package store

import "github.com/zeebo/xxh3"

// Exporter is a Partition that clients can read by themselves, without the server's
// CPU. Its memory comes from Arena.Export, so that a server can register it.
//
// Clients may read exported memory at any time, also while it changes. Therefore
//
//	E1  exported items carry a checksum over key, value, version and the rest, and a
//	    Finder accepts nothing that does not match it;
//	E2  a change is in the exported memory when the call that made it returns. A client
//	    that begins to read later finds the new state, or nothing, or bytes that do not
//	    match their checksum, but never the old state.
type Exporter interface {
	Partition
	// Export returns the memory that clients read. It is the same from New to Close.
	Export() Export
}

// Export is the memory of a partition that clients read.
type Export struct {
	// Layout tells a Finder how to read the areas, in a format of the engine; at most
	// MaxLayout bytes. A Finder does not trust it.
	Layout []byte
	// Areas are the blocks; at most MaxAreas. A Finder names them by index. Clients can
	// add to those that are writable (Arena.Export).
	Areas []Block
}

const (
	// MaxLayout is the length of the longest Layout.
	MaxLayout = 256
	// MaxAreas is how many areas a partition can have.
	MaxAreas = 8
)

// Span is a piece of an area that a Finder needs. It lies inside the area
// and begins at a multiple of 8 (G5 of fabric).
type Span struct {
	Area int
	Off  int64
	Len  int
}

// Outcome is the result of one step of a Finder.
type Outcome uint8

const (
	// More means that the Finder has to read another span.
	More Outcome = iota
	// Found means that the item was found and matches its checksum.
	Found
	// Missing means that the item did not exist at some time since Start.
	Missing
	// Ask means that reading cannot decide; ask the server.
	Ask
)

// Finder is the client's half of an Exporter: it finds an item in exported memory. It
// names the span to read next, and its caller reads it, so it knows nothing of fabrics.
// A Finder looks for one key at a time and belongs to one goroutine.
//
// A Finder accepts any bytes: it never reads outside of them, asks for a bounded number
// of spans before it returns Ask, and allocates nothing. It never returns Found for bytes
// of another key, bytes that do not match their checksum, or half of a change. It asks
// again for a span that was being changed.
type Finder interface {
	// Start begins to look for a key, and returns the first span to read. The caller
	// keeps the bytes of the key unchanged until there is an outcome.
	Start(k Key) Span
	// Look examines the span that was asked for last. It may change the bytes; the caller
	// leaves them alone until the next call.
	Look(b []byte) (Span, Outcome)
	// Item returns the item that was Found. Its value is a view of the bytes passed last. An
	// item that has expired is Found: only the caller knows the time.
	Item() Item
	// Touch returns the span that counts the uses of the item that was Found: a word, or one
	// byte of a word (length 1), to which the client adds by FETCH_ADD. It returns false if
	// the engine has no such counter.
	Touch() (Span, bool)
}

// Link is where an item was when it was read, its version then, and a hash of what that version has.
// A version never changes its value and flags, so the hash proves independently of the item's own
// checksum that bytes are not half of a change.
type Link struct {
	Span    Span
	Version uint64
	// Sum is the hash of flags and value (LinkSum). Whoever has the item computes it, so that the
	// server need not.
	Sum uint32
}

// LinkSum returns the hash of a value and flags that a link has.
func LinkSum(value []byte, flags uint32) uint32 { return uint32(xxh3.HashSeed(value, uint64(flags))) }

// Linker is an Exporter whose items can be found by links, without its index.
type Linker interface {
	Exporter
	// LinkOf returns the link, without its Sum, of the item that the last call, a Get, Read or Put of
	// this key, returned or stored. It returns false if the item has none.
	LinkOf(k Key) (Link, bool)
}

// Follower is a Finder that can follow links.
type Follower interface {
	Finder
	// Follow is Start for an item that a link points to. The item is Found as long as it is
	// at that place with that version and sum. If it was changed, deleted, evicted or moved, the
	// outcome is Ask.
	Follow(k Key, l Link) Span
}

// User is a Partition that can be told of uses that it did not see, such as READs by
// clients. The hashes are hints: only the order of eviction depends on them.
type User interface {
	Used(hashes []uint64)
}

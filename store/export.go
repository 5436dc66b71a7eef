package store

// Exporter is a Partition that clients can read by themselves, without the server's
// CPU. Its memory comes from Arena.Export, so that a server can register it.
//
// What is exported is read at any time, while it is being changed. Therefore
//
//	E1  whatever is found there proves itself: it carries a checksum over key, value,
//	    version and the rest, and a Finder accepts nothing else;
//	E2  a change is in the exported memory when the call that made it returns: a client
//	    that begins to read later finds it, or nothing, or something that does not
//	    prove itself, but never what was there before.
type Exporter interface {
	Partition
	// Export returns what clients read. It is the same from New to Close.
	Export() Export
}

// Export is the memory of a partition that clients read.
type Export struct {
	// Layout is what a Finder has to know: the engine's business, at most MaxLayout
	// bytes. A Finder does not trust it.
	Layout []byte
	// Areas are the blocks, which a Finder names by their place in this list; at most
	// MaxAreas. Clients can add to those that are writable (Arena.Export).
	Areas []Block
}

const (
	// MaxLayout is the length of the longest Layout.
	MaxLayout = 256
	// MaxAreas is how many areas a partition can have.
	MaxAreas = 8
)

// Span is a piece of an area that a Finder needs. It is inside the area,
// and begins at a multiple of 8 (G5 of fabric).
type Span struct {
	Area int
	Off  int64
	Len  int
}

// Outcome says what a Finder knows.
type Outcome uint8

const (
	// More says that it has to read another span.
	More Outcome = iota
	// Found says that the item is there, and has proven itself.
	Found
	// Missing says that there was certainly no such item at some time since Start.
	Missing
	// Ask means that reading cannot decide; ask the server.
	Ask
)

// Finder is the client's half of an Exporter: it finds an item in exported memory. It
// says what to read and is given the bytes, so it knows nothing of fabrics. A Finder
// looks for one key at a time and belongs to one goroutine.
//
// What it is given may be any bytes: it never reads outside of them, asks for a bounded
// number of spans (then it says Ask), and allocates nothing. Bytes of another key, of
// another version than the proof says, or half of a change are never Found. A span that
// was being changed is asked for again.
type Finder interface {
	// Start begins to look for a key, and returns what to read first. The bytes of the
	// key stay as they are until there is an outcome.
	Start(k Key) Span
	// Look is given what was asked for last. The bytes are the finder's to change, and
	// stay as they are until the next call.
	Look(b []byte) (Span, Outcome)
	// Item returns what was Found. The value is a view of the bytes given last. An item
	// that has expired is Found: only the caller knows the time.
	Item() Item
	// Touch returns what counts the uses of the item that was Found, to be added to by a
	// FETCH_ADD: a word, or a byte of one, which is a span of length 1. It is false if the
	// engine has none.
	Touch() (Span, bool)
}

// Link says where an item was when it was got, and which version it had.
type Link struct {
	Span    Span
	Version uint64
}

// Linker is an Exporter whose items can be found again without its index.
type Linker interface {
	Exporter
	// LinkOf returns the link of an item that the last call, Get, Read or Put of this
	// key, has returned or made. It is false for items that have none.
	LinkOf(k Key) (Link, bool)
}

// Follower is a Finder that can follow links.
type Follower interface {
	Finder
	// Follow is Start for an item that a link points to. It is Found as long as it is there
	// and has the version of the link: not when it was changed, deleted, displaced or
	// moved. Otherwise the server has to be asked.
	Follow(k Key, l Link) Span
}

// User is a Partition that takes account of uses which it did not see. The hashes are
// hints: nothing but the order of eviction depends on them.
type User interface {
	Used(hashes []uint64)
}

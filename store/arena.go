package store

import "github.com/remora-kv/remora/internal/arena"

// Arena allocates the memory of partitions, outside the Go heap, and counts it by purpose.
// Any number of partitions and goroutines can share one.
type Arena struct{ arena *arena.Arena }

// AllocFunc allocates size zeroed bytes at a page boundary that clients can read, such as a
// region registered with a network adapter. If writable, clients can also change them, by
// atomics. The purpose is for errors and statistics. Block.Owner returns the owner, and free
// releases the memory.
type AllocFunc func(purpose string, size int, writable bool) (mem []byte, owner any, free func() error, err error)

// NewArena returns an Arena whose exported blocks come from alloc, and all others from
// memory of this process. If alloc is nil, exported blocks are memory of this process, too.
func NewArena(alloc AllocFunc) *Arena {
	if alloc == nil {
		return &Arena{arena.New()}
	}
	return &Arena{arena.NewFrom(func(purpose string, size int, seal arena.Seal) ([]byte, any, func() error, error) {
		return alloc(purpose, size, seal == arena.ReadWriteForOthers)
	})}
}

// Exports reports whether clients can read what Export returns.
func (a *Arena) Exports() bool { return a.arena.Exports() }

// Alloc returns a block of size zeroed bytes that belong to this process alone. The purpose
// names the user of the memory in Usage and in errors, such as "mica log".
func (a *Arena) Alloc(purpose string, size int) (Block, error) {
	return newBlock(a.arena.Alloc(purpose, size))
}

// Export returns a block of size zeroed bytes for clients to read, and to change by atomics
// if it is writable.
func (a *Arena) Export(purpose string, size int, writable bool) (Block, error) {
	seal := arena.ReadOnlyForOthers
	if writable {
		seal = arena.ReadWriteForOthers
	}
	return newBlock(a.arena.Export(purpose, size, seal))
}

// Usage returns what is in use, sorted by purpose.
func (a *Arena) Usage() []Usage { return usageOf(a.arena.Stats()) }

// Resident is Usage with the bytes that are in RAM, without what Export returned, which is
// memory of the device. It asks the kernel about each page: some milliseconds for a GiB.
func (a *Arena) Resident() []Usage { return usageOf(a.arena.Resident()) }

func usageOf(stats []arena.Usage) []Usage {
	all := make([]Usage, len(stats))
	for i, u := range stats {
		all[i] = Usage(u)
	}
	return all
}

// Usage is the memory in use for one purpose: Resident are the bytes that are in RAM, if it
// was asked for.
type Usage struct {
	Purpose  string
	Blocks   int
	Bytes    int64
	Resident int64
}

// Block is memory from an Arena.
type Block struct{ block *arena.Block }

// newBlock asks for huge pages, since tables are read at random.
func newBlock(b *arena.Block, err error) (Block, error) {
	if err == nil {
		b.HugePages()
	}
	return Block{b}, err
}

// Bytes returns the memory of the block. It is valid until Free.
func (b Block) Bytes() []byte { return b.block.Bytes() }

// Size returns the number of bytes that the caller of Alloc or Export asked for.
func (b Block) Size() int { return b.block.Size() }

// Purpose returns the purpose that the block was allocated for.
func (b Block) Purpose() string { return b.block.Purpose() }

// Owner returns the owner that the AllocFunc of the arena returned, or nil.
func (b Block) Owner() any { return b.block.Owner() }

// Free gives the memory back. A second Free panics.
func (b Block) Free() error { return b.block.Free() }

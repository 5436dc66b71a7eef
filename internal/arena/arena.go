package arena

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Poison is the byte that fills a private block when it is freed (A5).
const Poison = 0xDB

// hugePage is the size from which transparent huge pages are worth asking for.
const hugePage = 2 << 20

// Seal says what holders of a shared block's descriptor may do with it.
type Seal int

const (
	// ReadWriteForOthers lets every process that has the descriptor map it writable.
	ReadWriteForOthers Seal = iota
	// ReadOnlyForOthers lets only the owner's mapping write (A4).
	ReadOnlyForOthers
)

// Arena hands out blocks and keeps count of them by purpose.
type Arena struct {
	source Source
	mu     sync.Mutex
	usage  map[string]Usage
	blocks map[*Block]struct{} // that are in use
}

// Source makes memory that peers can reach: size zeroed bytes at a page boundary, with
// the given right of others. owner is what Block.Owner returns.
type Source func(purpose string, size int, seal Seal) (mem []byte, owner any, release func() error, err error)

// Usage is what one purpose holds at the moment: Resident are the bytes that are in RAM, if
// it was asked for.
type Usage struct {
	Purpose  string
	Blocks   int
	Bytes    int64
	Resident int64
}

// Block is one piece of memory from an Arena.
type Block struct {
	arena    *Arena
	purpose  string
	mem      []byte
	owner    any
	fd       int
	shared   bool // other processes may have mapped it
	exported bool // it is memory of the source
	release  func(mem []byte) error
	freed    atomic.Bool
}

// New returns an empty Arena.
func New() *Arena { return &Arena{usage: make(map[string]Usage), blocks: make(map[*Block]struct{})} }

// NewFrom returns an empty Arena whose exported blocks come from a source.
func NewFrom(source Source) *Arena {
	a := New()
	a.source = source
	return a
}

// Alloc returns size zeroed bytes that belong to this process alone. The purpose
// names the user of the memory in Stats and in errors, such as "mica log".
// A size of zero or less panics.
func (a *Arena) Alloc(purpose string, size int) (*Block, error) {
	mustBePositive("Alloc", purpose, size)
	mem, err := allocPrivate(size)
	if err != nil {
		return nil, fmt.Errorf("arena: %s: cannot allocate %d bytes of private memory: %w; "+
			"check free memory, the container's memory limit, ulimit -v and vm.max_map_count", purpose, size, err)
	}
	return a.admit(&Block{purpose: purpose, mem: mem, fd: -1, release: freePrivate}), nil
}

// AllocShared returns size zeroed bytes in a sealed memory file (A3, A4), whose
// descriptor is Block.FD. The file is size rounded up to pages. Free closes the
// descriptor and this mapping; processes that have mapped the file keep it.
// A size of zero or less panics.
func (a *Arena) AllocShared(purpose string, size int, seal Seal) (*Block, error) {
	mustBePositive("AllocShared", purpose, size)
	mem, fd, err := allocShared(purpose, size, seal)
	if err != nil {
		return nil, fmt.Errorf("arena: %s: cannot allocate %d bytes of shared memory: %w", purpose, size, err)
	}
	release := func(mem []byte) error { return freeShared(mem, fd) }
	return a.admit(&Block{purpose: purpose, mem: mem, fd: fd, shared: true, release: release}), nil
}

// Export returns size zeroed bytes for others to read, and to add to by atomics with
// ReadWriteForOthers: memory of the arena's source, or private memory if it has none. A
// size of zero or less panics.
func (a *Arena) Export(purpose string, size int, seal Seal) (*Block, error) {
	if a.source == nil {
		return a.Alloc(purpose, size)
	}
	mustBePositive("Export", purpose, size)
	mem, owner, release, err := a.source(purpose, size, seal)
	if err != nil {
		return nil, fmt.Errorf("arena: %s: cannot allocate %d bytes for others to read: %w", purpose, size, err)
	}
	free := func([]byte) error { return release() }
	return a.admit(&Block{purpose: purpose, mem: mem[:size:size], fd: -1, owner: owner, exported: true, release: free}), nil
}

// Exports reports whether others can read what Export returns.
func (a *Arena) Exports() bool { return a.source != nil }

// Map maps the first size bytes of a memory file that another process made with
// AllocShared. It refuses a file that its owner could still shrink or that is
// shorter than size (A3); a read-only file cannot be mapped writable (A4).
// The descriptor stays the caller's, who may close it when Map has returned.
// A size of zero or less panics: check a size that a peer named first.
func (a *Arena) Map(purpose string, fd, size int, writable bool) (*Block, error) {
	mustBePositive("Map", purpose, size)
	mem, err := mapForeign(fd, size, writable)
	if err != nil {
		return nil, fmt.Errorf("arena: %s: cannot map %d bytes of a peer's descriptor %d: %w", purpose, size, fd, err)
	}
	return a.admit(&Block{purpose: purpose, mem: mem, fd: -1, shared: true, release: freeForeign}), nil
}

// Stats returns what is in use, sorted by purpose. Purposes without a block are
// left out.
func (a *Arena) Stats() []Usage {
	a.mu.Lock()
	defer a.mu.Unlock()
	return sorted(a.usage)
}

func sorted(usage map[string]Usage) []Usage {
	return slices.SortedFunc(maps.Values(usage), func(x, y Usage) int { return strings.Compare(x.Purpose, y.Purpose) })
}

// Resident is Stats with the bytes that are in RAM because of this process, as its resident set
// counts them. It asks the kernel about each page: some milliseconds for a GiB. Exported blocks
// are left out, since their memory belongs to the source.
func (a *Arena) Resident() []Usage {
	a.mu.Lock()
	blocks := slices.Collect(maps.Keys(a.blocks))
	a.mu.Unlock()
	byPurpose := make(map[string]Usage)
	pages := openPagemap()
	defer pages.close()
	for _, b := range blocks {
		if !b.exported {
			u := byPurpose[b.purpose]
			u.Purpose = b.purpose
			u.Blocks++
			u.Bytes += int64(len(b.mem))
			u.Resident += pages.resident(b.mem, b.shared) // only its address is used: it may be free by now
			byPurpose[b.purpose] = u
		}
	}
	return sorted(byPurpose)
}

// Bytes is the memory of the block, valid until Free.
func (b *Block) Bytes() []byte {
	if b.freed.Load() {
		panic(fmt.Sprintf("arena: %s: Bytes of a block that was freed", b.purpose))
	}
	return b.mem
}

// Size is the number of bytes that were asked for.
func (b *Block) Size() int { return len(b.mem) }

// Purpose is the name that the block was allocated under.
func (b *Block) Purpose() string { return b.purpose }

// FD is the descriptor of a block from AllocShared, and -1 for any other. It
// belongs to the block and is closed by Free.
func (b *Block) FD() int { return b.fd }

// Owner is what the source of an exported block says it belongs to, nil for any other.
func (b *Block) Owner() any { return b.owner }

// HugePages asks the kernel to back a block of at least 2 MiB with huge pages
// and reports whether it took the hint. Nothing depends on the answer.
func (b *Block) HugePages() bool {
	mem := b.Bytes()
	return len(mem) >= hugePage && adviseHuge(mem)
}

// Free gives the memory back (A5). A second Free panics.
func (b *Block) Free() error {
	if b.freed.Swap(true) {
		panic(fmt.Sprintf("arena: %s: block of %d bytes freed twice", b.purpose, len(b.mem)))
	}
	b.arena.count(b, -1)
	if err := b.release(b.mem); err != nil {
		return fmt.Errorf("arena: %s: cannot free %d bytes: %w", b.purpose, len(b.mem), err)
	}
	return nil
}

// admit makes b a block of this arena (A6).
func (a *Arena) admit(b *Block) *Block {
	b.arena = a
	a.count(b, 1)
	return b
}

// count adds a block, or takes it away with sign -1.
func (a *Arena) count(b *Block, sign int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if sign > 0 {
		a.blocks[b] = struct{}{}
	} else {
		delete(a.blocks, b)
	}
	u := a.usage[b.purpose]
	u.Purpose = b.purpose
	u.Blocks += sign
	u.Bytes += int64(sign * len(b.mem))
	if u.Blocks == 0 {
		delete(a.usage, b.purpose)
		return
	}
	a.usage[b.purpose] = u
}

func mustBePositive(method, purpose string, size int) {
	if size <= 0 {
		panic(fmt.Sprintf("arena: %s: %s of %d bytes, must be at least 1", purpose, method, size))
	}
}

// fill is not seen by the race detector, which takes seconds for what is freed at
// the end of a large cache.
//
//go:norace
func fill(mem []byte, v byte) {
	if len(mem) == 0 {
		return
	}
	mem[0] = v
	for n := 1; n < len(mem); n *= 2 {
		copy(mem[n:], mem[:n])
	}
}

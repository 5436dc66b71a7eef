package kvl

import "github.com/remora-kv/remora/internal/arena"

// Memory allocates the memory of builders and images, outside the Go heap, and counts it. Any
// number of builders, and any number of goroutines, can share one.
type Memory struct{ arena *arena.Arena }

// AllocFunc allocates size zeroed bytes, at a multiple of 8, that others can read, such as a region
// registered with a network adapter. The purpose is for errors and statistics. Area.Owner returns
// the owner, and free releases the memory.
type AllocFunc func(purpose string, size int) (mem []byte, owner any, free func() error, err error)

// NewMemory returns a Memory that allocates areas by alloc, and everything else as memory of this
// process. If alloc is nil, areas are memory of this process, too.
func NewMemory(alloc AllocFunc) *Memory {
	if alloc == nil {
		return &Memory{arena.New()}
	}
	return &Memory{arena.NewFrom(func(purpose string, size int, _ arena.Seal) ([]byte, any, func() error, error) {
		return alloc(purpose, size)
	})}
}

// NewArea allocates an area of size zeroed bytes. The caller frees it.
func (m *Memory) NewArea(size int) (Area, error) {
	block, err := m.arena.Export("kvl items", size, arena.ReadOnlyForOthers)
	return Area{block}, err
}

// Usage returns what is in use, sorted by purpose.
func (m *Memory) Usage() []Usage {
	stats := m.arena.Stats()
	all := make([]Usage, len(stats))
	for i, u := range stats {
		all[i] = Usage{u.Purpose, u.Blocks, u.Bytes}
	}
	return all
}

// Usage is the memory in use for one purpose.
type Usage struct {
	Purpose string
	Blocks  int
	Bytes   int64
}

// Area is a block of memory for records.
type Area struct{ block *arena.Block }

// Bytes returns the memory of the area. It is valid until the area is freed.
func (a Area) Bytes() []byte { return a.block.Bytes() }

// Owner returns the owner that the AllocFunc of the memory returned, or nil.
func (a Area) Owner() any { return a.block.Owner() }

// Free frees an area that NewArea returned. A second Free panics.
func (a Area) Free() error { return a.block.Free() }

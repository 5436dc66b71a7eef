package shm

import (
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/direct"
	"github.com/remora-kv/remora/internal/arena"
)

const pageSize = 4096

// pages rounds n up to whole pages.
func pages(n int) int { return (n + pageSize - 1) &^ (pageSize - 1) }

// fileSize is the size of the memory file of a region.
func fileSize(size int) int { return pages(size) + pageSize }

const (
	writable = fabric.RemoteWrite | fabric.RemoteAtomic
	anything = fabric.RemoteRead | writable
)

// AllocRegion implements direct.Provider.
func (d *hooks) AllocRegion(purpose string, size int, access fabric.Access) (*direct.Backing, error) {
	if access == 0 {
		return d.allocPrivate(purpose, size)
	}
	seal := arena.ReadOnlyForOthers
	if access&writable != 0 {
		seal = arena.ReadWriteForOthers
	}
	b, err := d.arena.AllocShared(purpose, fileSize(size), seal)
	if err != nil {
		return nil, err
	}
	b.HugePages()
	return &direct.Backing{
		Mem:  b.Bytes()[:size:size],
		Live: liveWord(b.Bytes(), size),
		Free: func() error {
			d.share.Lock()
			defer d.share.Unlock()
			return b.Free()
		},
		Share: b,
	}, nil
}

// allocPrivate makes a region that no peer can name.
func (d *hooks) allocPrivate(purpose string, size int) (*direct.Backing, error) {
	b, err := d.arena.Alloc(purpose, size)
	if err != nil {
		return nil, err
	}
	return &direct.Backing{Mem: b.Bytes(), Live: new(atomic.Uint32), Free: b.Free}, nil
}

// RegionClosed implements direct.Provider.
func (d *hooks) RegionClosed(key uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for l := range d.controls {
		l.revoke(key)
	}
}

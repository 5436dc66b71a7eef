package direct

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
)

// Alloc implements fabric.Domain.
func (p *Domain) Alloc(purpose string, size int, access fabric.Access) (*fabric.Region, error) {
	if size <= 0 || size > p.core.limits.MaxRegion {
		return nil, fmt.Errorf("fabric: region %q of %d bytes, the device takes 1 to %d: %w",
			purpose, size, p.core.limits.MaxRegion, fabric.ErrInvalid)
	}
	b, err := p.core.provider.AllocRegion(purpose, size, access)
	if err != nil {
		return nil, fmt.Errorf("fabric: region %q: %w", purpose, err)
	}
	r := &Exported{Backing: b, Size: size, Access: access, Domain: p}
	if err := p.core.addRegion(r); err != nil {
		_ = b.Free()
		return nil, err
	}
	return fabric.NewRegion(fabric.RegionParams{
		Mem: b.Mem, Addr: r.Addr, Key: r.Key, Access: access, Domain: p,
		Close: func() error { return p.closeRegion(r, purpose) },
	}), nil
}

func (p *Domain) closeRegion(r *Exported, purpose string) error {
	if !p.core.removeRegion(r) {
		return fmt.Errorf("fabric: region %q: %w", purpose, fabric.ErrClosed)
	}
	p.core.provider.RegionClosed(r.Key)
	return r.Backing.Free()
}

// Backing is the memory of a region.
type Backing struct {
	Mem  []byte
	Live *atomic.Uint32
	// Free releases it on this side.
	Free func() error
	// Share is what the provider hands to peers.
	Share any
}

// Exported is a region as a peer may ask for it.
type Exported struct {
	Backing *Backing
	Addr    uint64
	Key     uint32
	Size    int
	Access  fabric.Access
	Domain  *Domain
}

// Export returns the live region of d under key if it belongs to the domain.
func Export(d *Core, key uint32, dom *Domain) *Exported {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := keyIndex(key)
	if i >= len(d.regions) {
		return nil
	}
	r := d.regions[i]
	if r == nil || r.Key != key || r.Domain != dom || r.Access == 0 {
		return nil
	}
	return r
}

// addRegion gives a region its index, key and address.
func (d *Core) addRegion(r *Exported) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || r.Domain.contents.Closed {
		return d.errClosed()
	}
	i, err := d.takeIndex()
	if err != nil {
		return err
	}
	r.Addr = regionAddr(i)
	d.generation[i] = d.generation[i]%maxGeneration + 1
	r.Key = uint32(i) | uint32(d.generation[i])<<keyIndexBits
	r.Domain.contents.Regions++
	d.regions[i] = r
	r.Backing.Live.Store(r.Key)
	return nil
}

// takeIndex returns a free place in the table: the one that has been free for
// longest, so that the keys of closed regions come back as late as possible.
func (d *Core) takeIndex() (int, error) {
	switch {
	case len(d.free) > restingIndexes || len(d.free) > 0 && len(d.regions) == maxRegions:
		i := d.free[0]
		d.free = d.free[1:]
		return i, nil
	case len(d.regions) < maxRegions:
		d.regions = append(d.regions, nil)
		d.generation = append(d.generation, uint16(rand.Uint32N(maxGeneration)))
		return len(d.regions) - 1, nil
	}
	return 0, fmt.Errorf("fabric: device %s: %d regions are open, no more can be made: %w",
		d.name, maxRegions, fabric.ErrInvalid)
}

// removeRegion revokes a region; false when it was revoked before.
func (d *Core) removeRegion(r *Exported) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := keyIndex(r.Key)
	if d.regions[i] != r {
		return false
	}
	d.regions[i] = nil
	d.free = append(d.free, i)
	r.Backing.Live.Store(0)
	r.Domain.contents.Regions--
	return true
}

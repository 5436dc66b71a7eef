package direct

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
)

// Provider is what loop and shm differ in.
type Provider interface {
	// AllocRegion returns zeroed, page-aligned memory that a peer with the
	// given rights can map, and the word that tells peers that it lives.
	AllocRegion(purpose string, size int, access fabric.Access) (*Backing, error)
	// RegionClosed is called after a region was revoked, before its memory is
	// freed, so that peers can be told.
	RegionClosed(key uint32)
	// GramAddress makes a datagram queue pair reachable and returns the
	// address that peers give to GramOpen.
	GramAddress(q *QP) ([]byte, error)
	// GramClosed takes back the address of a queue pair that is closed.
	GramClosed(q *QP)
	// GramOpen shares a segment with the datagram queue pair at an address.
	GramOpen(ctx context.Context, addr []byte) (*GramPath, error)
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

// Core is what loop and shm devices have in common. A provider embeds it.
type Core struct {
	fabric, name string
	limits       fabric.Limits
	clock        fabric.Clock
	provider     Provider

	mu      sync.Mutex
	closed  bool
	regions []*Exported // by index; nil is free
	// generation numbers the regions that had an index.
	generation []uint16
	free       []int // indexes, the oldest first
	qps        map[uint32]*QP
	nextQPN    uint32
	past       fabric.Counters // of queue pairs that were closed
}

// DefaultLimits are those of both providers.
func DefaultLimits() fabric.Limits {
	return fabric.Limits{
		MaxInline: 512, MaxSegs: 8, MaxDepth: 1 << 14, MaxCQDepth: 1 << 22,
		MaxMessage: 1 << 30, MTU: 4096, MaxReads: 1 << 14, MaxPrivate: 256,
		MaxRegion: 1 << 40, UC: true, UD: true, Atomics: true,
	}
}

// NewCore makes the common part of a device.
func NewCore(fabricName, name string, limits fabric.Limits, p Provider) *Core {
	return &Core{
		fabric: fabricName, name: name, limits: limits, clock: fabric.NewClock(),
		provider: p, qps: map[uint32]*QP{},
	}
}

// Fabric implements fabric.Device.
func (d *Core) Fabric() string { return d.fabric }

// Name implements fabric.Device.
func (d *Core) Name() string { return d.name }

// Limits implements fabric.Device.
func (d *Core) Limits() fabric.Limits { return d.limits }

// Clock implements fabric.Device.
func (d *Core) Clock() fabric.Clock { return d.clock }

// Counters implements fabric.Device.
func (d *Core) Counters() fabric.Counters {
	d.mu.Lock()
	defer d.mu.Unlock()
	sum := d.past
	for _, q := range d.qps {
		c := q.Counters()
		sum.Add(&c)
	}
	return sum
}

// NewDomain implements fabric.Device.
func (d *Core) NewDomain() (fabric.Domain, error) {
	if err := d.Open(); err != nil {
		return nil, err
	}
	return &Domain{core: d}, nil
}

// Open returns ErrClosed once the device is closed.
func (d *Core) Open() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return d.errClosed()
	}
	return nil
}

func (d *Core) errClosed() error {
	return fmt.Errorf("fabric: device %s: %w", d.name, fabric.ErrClosed)
}

// QPs returns the queue pairs that are open.
func (d *Core) QPs() []*QP {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make([]*QP, 0, len(d.qps))
	for _, q := range d.qps {
		out = append(out, q)
	}
	return out
}

// QP returns the queue pair with a number, or nil.
func (d *Core) QP(qpn uint32) *QP {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.qps[qpn]
}

// Export returns the live region under key if it belongs to the domain.
func (d *Core) Export(key uint32, dom *Domain) *Exported {
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
	if d.closed || r.Domain.closed {
		return d.errClosed()
	}
	i, err := d.takeIndex()
	if err != nil {
		return err
	}
	r.Addr = regionAddr(i)
	d.generation[i] = d.generation[i]%maxGeneration + 1
	r.Key = uint32(i) | uint32(d.generation[i])<<keyIndexBits
	r.Domain.regions++
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
	r.Domain.regions--
	return true
}

// CloseCore breaks what is open and releases regions. The provider has
// stopped listeners and links before.
func (d *Core) CloseCore() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return d.errClosed()
	}
	d.closed = true
	d.mu.Unlock()
	for _, q := range d.QPs() {
		_ = q.Disconnect()
	}
	return nil
}

package direct

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/remora-kv/remora/fabric"
)

// Provider is what loop and shm differ in.
type Provider interface {
	// AllocRegion returns zeroed, page-aligned memory that a peer with the
	// given rights can map, and the word that tells peers that it lives.
	AllocRegion(purpose string, size int, access fabric.Access) (*Backing, error)
	// RegionClosed is called after a region was revoked, before its memory is
	// freed, so that peers can be notified.
	RegionClosed(key uint32)
	// Yield lets peers run that share the CPU of the caller.
	Yield()
	// GramAddress makes a datagram queue pair reachable and returns the
	// address that peers give to GramOpen.
	GramAddress(q *QP) ([]byte, error)
	// GramClosed takes back the address of a queue pair that is closed.
	GramClosed(q *QP)
	// GramOpen shares a segment with the datagram queue pair at an address.
	GramOpen(ctx context.Context, addr []byte) (*GramPath, error)
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
		MaxRegion: 1 << 40, UC: true, UD: true, Atomics: true, InOrder: true,
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

// FindQP returns the queue pair of d with a number, or nil. It is a function because the
// methods of Core are those of the public devices.
func FindQP(d *Core, qpn uint32) *QP {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.qps[qpn]
}

// CloseCore breaks what is open and releases regions. The provider has
// stopped listeners and closed connections before.
func (d *Core) CloseCore() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return d.errClosed()
	}
	d.closed = true
	qps := slices.Collect(maps.Values(d.qps))
	d.mu.Unlock()
	for _, q := range qps {
		_ = q.Disconnect()
	}
	return nil
}

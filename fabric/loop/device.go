package loop

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/direct"
)

// Network is a set of devices that reach each other.
type Network struct {
	mu        sync.Mutex
	listeners map[string]*listener
	grams     map[uint64]*direct.QP // datagram queue pairs by their address
}

// NewNetwork makes a network without devices.
func NewNetwork() *Network {
	return &Network{listeners: map[string]*listener{}, grams: map[uint64]*direct.QP{}}
}

// Device is a loop device.
type Device struct {
	*direct.Core
	net    *Network
	killed atomic.Bool

	mu        sync.Mutex
	links     map[*link]struct{}
	listeners map[*listener]struct{}
	addresses map[uint32]uint64 // of datagram queue pairs, by number
}

// NewDevice adds a device to the network.
func (n *Network) NewDevice(name string) (*Device, error) {
	d := &Device{
		net: n, links: map[*link]struct{}{}, listeners: map[*listener]struct{}{}, addresses: map[uint32]uint64{},
	}
	d.Core = direct.NewCore("loop", name, direct.DefaultLimits(), d)
	return d, nil
}

const pageSize = 4096

// AllocRegion implements direct.Provider.
func (d *Device) AllocRegion(_ string, size int, _ fabric.Access) (*direct.Backing, error) {
	return &direct.Backing{
		Mem:  direct.HeapBytes(size, pageSize),
		Live: new(atomic.Uint32),
		Free: func() error { return nil },
	}, nil
}

// RegionClosed implements direct.Provider: peers see the revoked key, and the
// collector does the rest (I1).
func (d *Device) RegionClosed(uint32) {}

// GramAddress implements direct.Provider.
func (d *Device) GramAddress(q *direct.QP) ([]byte, error) {
	d.net.mu.Lock()
	defer d.net.mu.Unlock()
	id := rand.Uint64()
	d.net.grams[id] = q
	d.mu.Lock()
	d.addresses[q.Num()] = id
	d.mu.Unlock()
	return binary.LittleEndian.AppendUint64([]byte("loop"), id), nil
}

// GramClosed implements direct.Provider.
func (d *Device) GramClosed(q *direct.QP) {
	d.net.mu.Lock()
	defer d.net.mu.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	if id, ok := d.addresses[q.Num()]; ok {
		delete(d.net.grams, id)
		delete(d.addresses, q.Num())
	}
}

// GramOpen implements direct.Provider.
func (d *Device) GramOpen(_ context.Context, addr []byte) (*direct.GramPath, error) {
	if len(addr) != 12 || string(addr[:4]) != "loop" {
		return nil, fmt.Errorf("fabric: %x is not the address of a loop datagram queue pair: %w", addr, fabric.ErrInvalid)
	}
	d.net.mu.Lock()
	q := d.net.grams[binary.LittleEndian.Uint64(addr[4:])]
	d.net.mu.Unlock()
	if q == nil || q.State() != fabric.StateReady {
		return nil, fmt.Errorf("fabric: the datagram queue pair at this address is closed: %w", fabric.ErrRefused)
	}
	mem := direct.HeapBytes(direct.GramSegmentBytes(), pageSize)
	lane := q.AddGramLane(mem, func() {})
	return &direct.GramPath{Mem: mem, Wake: q.RecvPipe(), Release: func() { q.RemoveGramLane(lane) }}, nil
}

// Close implements fabric.Device.
func (d *Device) Close() error {
	if err := d.CloseCore(); err != nil {
		return err
	}
	d.withdraw()
	return nil
}

// Kill makes the device vanish as if its process had died: nobody is told
// anything, and peers find out as they would. It is for tests.
func (d *Device) Kill() {
	d.killed.Store(true)
	d.mu.Lock()
	links := make([]*link, 0, len(d.links))
	for l := range d.links {
		links = append(links, l)
	}
	d.mu.Unlock()
	for _, l := range links {
		l.lost()
	}
	d.withdraw()
}

// withdraw removes listeners and addresses from the network.
func (d *Device) withdraw() {
	d.mu.Lock()
	listeners := make([]*listener, 0, len(d.listeners))
	for l := range d.listeners {
		listeners = append(listeners, l)
	}
	addresses := slices.Collect(maps.Values(d.addresses))
	clear(d.addresses)
	d.mu.Unlock()
	for _, l := range listeners {
		_ = l.Close()
	}
	d.net.mu.Lock()
	for _, id := range addresses {
		delete(d.net.grams, id)
	}
	d.net.mu.Unlock()
}

package loop

import (
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
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

type core = direct.Core

// hooks is what a Device does for its core.
type hooks Device

// Device is a loop device.
type Device struct {
	*core
	net    *Network
	killed atomic.Bool

	listeners base.OpenSet[*listener]

	mu        sync.Mutex
	controls  map[*control]struct{}
	addresses map[uint32]uint64 // of datagram queue pairs, by number
}

// NewDevice adds a device to the network.
func (n *Network) NewDevice(name string) (*Device, error) {
	d := &Device{
		net: n, controls: map[*control]struct{}{}, addresses: map[uint32]uint64{},
	}
	d.core = direct.NewCore("loop", name, direct.DefaultLimits(), (*hooks)(d))
	return d, nil
}

// Memory implements fabric.Device: all of it is memory of the Go heap.
func (d *Device) Memory() []fabric.Usage { return nil }

// Close implements fabric.Device.
func (d *Device) Close() error {
	if err := d.CloseCore(); err != nil {
		return err
	}
	d.withdraw()
	return nil
}

// Kill makes the device vanish as if its process had died: no peer is notified
// anything, and peers find out as they would. It is for tests.
func (d *Device) Kill() {
	d.killed.Store(true)
	d.mu.Lock()
	controls := make([]*control, 0, len(d.controls))
	for l := range d.controls {
		controls = append(controls, l)
	}
	d.mu.Unlock()
	for _, l := range controls {
		l.lost()
	}
	d.withdraw()
}

// withdraw removes listeners and addresses from the network.
func (d *Device) withdraw() {
	d.mu.Lock()
	addresses := slices.Collect(maps.Values(d.addresses))
	clear(d.addresses)
	d.mu.Unlock()
	d.listeners.Close()
	d.net.mu.Lock()
	for _, id := range addresses {
		delete(d.net.grams, id)
	}
	d.net.mu.Unlock()
}

// Yield implements direct.Provider: peers are goroutines of this process.
func (d *hooks) Yield() { runtime.Gosched() }

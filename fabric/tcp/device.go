package tcp

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
	"github.com/remora-kv/remora/internal/arena"
)

// Device implements fabric.Device.
type Device struct {
	name    string
	limits  fabric.Limits
	clock   fabric.Clock
	timeout time.Duration
	sockBuf int
	arena   *arena.Arena
	nic     *nic
	pool    outPool

	listeners  base.OpenSet[*listener]
	handshakes base.Handshakes

	qps     table[queues]
	regions table[region]

	// mu guards what follows, and the counts of domains. It is taken after
	// the lock of a queue pair, never before.
	mu      sync.Mutex
	closed  bool
	host    netip.Addr // of datagram queue pairs; invalid until known
	created uint32     // queue pairs ever made
	gone    fabric.Counters
}

// New makes a device. It starts one goroutine, which ends with Close.
func New(cfg Config) (fabric.Device, error) {
	d := &Device{
		name: cfg.Name, clock: cfg.Clock, timeout: cfg.PeerTimeout, sockBuf: cfg.SocketBuffer,
		arena: arena.New(),
		limits: fabric.Limits{
			MaxInline: 1024, MaxSegs: 16, MaxDepth: 1 << 15, MaxCQDepth: 1 << 22,
			MaxMessage: maxMessage, MTU: gramMTU, MaxReads: window / (headSize + 8),
			MaxPrivate: maxPrivate, MaxRegion: maxRegion, UC: true, UD: true, Atomics: true,
			InOrder: true,
		},
	}
	if err := d.configure(&cfg); err != nil {
		return nil, err
	}
	var err error
	if d.nic, err = startNIC(d, cfg.Spin); err != nil {
		return nil, fmt.Errorf("fabric: tcp: device %s: %w", d.name, err)
	}
	return d, nil
}

// configure fills in defaults and reports everything that is wrong.
func (d *Device) configure(cfg *Config) error {
	var errs []error
	if cfg.Host != "" {
		ip, err := netip.ParseAddr(cfg.Host)
		if err != nil || ip.IsUnspecified() {
			errs = append(errs, fmt.Errorf("host %q is not an IP address that peers can reach: %w",
				cfg.Host, fabric.ErrInvalid))
		}
		d.host = ip.Unmap().WithZone("")
	}
	if cfg.PeerTimeout < 0 {
		errs = append(errs, fmt.Errorf("peer timeout %v: %w", cfg.PeerTimeout, fabric.ErrInvalid))
	}
	if cfg.SocketBuffer < 0 || cfg.SocketBuffer > 1<<30 {
		errs = append(errs, fmt.Errorf("socket buffer of %d bytes: %w", cfg.SocketBuffer, fabric.ErrInvalid))
	}
	if len(errs) != 0 {
		return fmt.Errorf("fabric: tcp: %w", errors.Join(errs...))
	}
	if d.name == "" {
		d.name = "tcp"
	}
	if d.clock == nil {
		d.clock = fabric.NewClock()
	}
	if d.timeout == 0 {
		d.timeout = DefaultPeerTimeout
	}
	if cfg.Spin == 0 {
		cfg.Spin = DefaultSpin
	}
	return nil
}

// Fabric implements fabric.Device.
func (d *Device) Fabric() string { return "tcp" }

// Name implements fabric.Device.
func (d *Device) Name() string { return d.name }

// Limits implements fabric.Device.
func (d *Device) Limits() fabric.Limits { return d.limits }

// Clock implements fabric.Device.
func (d *Device) Clock() fabric.Clock { return d.clock }

func (d *Device) errClosed() error {
	return fmt.Errorf("fabric: device %s: %w", d.name, fabric.ErrClosed)
}

// Close implements fabric.Device. Memory of regions that are still open stays
// until they are closed, because the program may be looking at it.
func (d *Device) Close() error {
	if !d.shut() {
		return d.errClosed()
	}
	for _, q := range d.qps.all() {
		_ = q.member.Disconnect()
	}
	d.nic.stop(lingerMax)
	return nil
}

// Kill makes the device vanish without a message to its peers, as the death of
// its process would: every connection is reset, every listener and datagram
// socket closed. It is for tests. The device must be closed afterwards; its
// queue pairs are in StateError.
func (d *Device) Kill() {
	if !d.shut() {
		return
	}
	for _, q := range d.qps.all() {
		q.member.kill()
	}
	d.nic.stop(0)
}

// shut closes everything that makes connections. It reports whether the
// device was open.
func (d *Device) shut() bool {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return false
	}
	d.closed = true
	d.mu.Unlock()
	d.listeners.Close()
	d.handshakes.Close()
	return true
}

//go:build rdma

package verbs

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
	"github.com/remora-kv/remora/internal/arena"
)

// Device is a port of an RDMA adapter.
type Device struct {
	adapter    atomic.Pointer[adapter] // replaced when its addresses change
	cfg        Config
	log        *slog.Logger
	lim        fabric.Limits
	clock      fabric.Clock
	arena      *arena.Arena
	events     *eventReader
	killed     atomic.Bool
	quirks     Quirks
	listeners  base.OpenSet[*listener]
	handshakes base.Handshakes

	mu        sync.Mutex
	closed    bool
	past      fabric.Counters // of queue pairs that were closed
	qps       map[uint32]*QP
	domains   map[*Domain]struct{}
	cqs       map[*CQ]struct{}
	madeCQs   int
	controls  map[*control]struct{}
	watching  bool // watchQPs runs
	asking    bool // peers are being asked for their counts
	locked    uint64
	revoked   keyRing
	manager   *manager
	noManager error // why there is none
	tallies   *tallies
	noTallies bool
	handles   map[uint64]*handle // by the number that tallies give them
}

// New opens an adapter.
func New(cfg Config) (*Device, error) {
	if err := cfg.checkCM(); err != nil {
		return nil, err
	}
	a, err := openAdapter(cfg)
	if err != nil {
		return nil, err
	}
	d := &Device{
		cfg: cfg, log: cfg.Log, clock: fabric.NewClock(), arena: arena.New(),
		handles: map[uint64]*handle{},
		qps:     map[uint32]*QP{}, domains: map[*Domain]struct{}{}, cqs: map[*CQ]struct{}{},
		controls: map[*control]struct{}{},
	}
	d.adapter.Store(a)
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	if d.lim, err = a.limits(); err == nil {
		d.quirks = quirksOf(a.caps.vendor)
		d.events, err = d.readEvents()
	}
	if err != nil {
		_ = a.ctx.close()
		return nil, fmt.Errorf("fabric: verbs: device %s: %w", a.choice.Device, err)
	}
	d.log.Info("RDMA adapter chosen", "device", a.choice.Device, "port", a.choice.Port, "gid", a.choice.GID.Index,
		"choice", a.choice.String(), "near", a.choice.Near, "firmware", a.choice.Firmware)
	return d, nil
}

// Fabric implements fabric.Device.
func (d *Device) Fabric() string { return "verbs" }

// Name implements fabric.Device.
func (d *Device) Name() string { return d.adapter.Load().choice.Device }

// Choice returns port and GID that the device uses, for logs.
func (d *Device) Choice() Choice { return d.adapter.Load().choice }

// Limits implements fabric.Device.
func (d *Device) Limits() fabric.Limits { return d.lim }

// Clock implements fabric.Device.
func (d *Device) Clock() fabric.Clock { return d.clock }

// Memory implements fabric.Device.
func (d *Device) Memory() []fabric.Usage { return base.Memory(d.arena) }

func (d *Device) errClosed() error {
	return fmt.Errorf("fabric: device %s: %w", d.Name(), fabric.ErrClosed)
}

// qp returns the queue pair with a number, or nil.
func (d *Device) qp(num uint32) *QP {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.qps[num]
}

// openQPs returns the queue pairs that are not closed.
func (d *Device) openQPs() []*QP {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Values(d.qps))
}

// Close implements fabric.Device.
func (d *Device) Close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return d.errClosed()
	}
	d.closed = true
	d.mu.Unlock()
	d.listeners.Close()
	d.handshakes.Close()
	for _, q := range d.openQPs() {
		_ = q.Disconnect()
	}
	d.events.stop()
	d.mu.Lock()
	t := d.tallies
	d.mu.Unlock()
	t.stop()
	return d.release()
}

// release frees what the adapter holds: parts before what they are parts of.
func (d *Device) release() error {
	var errs []error
	note := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	for _, q := range d.openQPs() {
		note(q.release())
		q.hangUp()
	}
	d.mu.Lock()
	m := d.manager
	domains := slices.Collect(maps.Keys(d.domains))
	cqs := slices.Collect(maps.Keys(d.cqs))
	d.mu.Unlock()
	for _, c := range cqs {
		note(c.release())
	}
	for _, p := range domains {
		note(p.release())
	}
	if m != nil {
		m.stop()
	}
	note(d.adapter.Load().ctx.close())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("fabric: device %s: %w", d.Name(), err)
	}
	return nil
}

// Kill makes the device vanish as if its process had died: connections end
// without a message and the adapter answers no peer. It is for tests.
func (d *Device) Kill() {
	d.killed.Store(true)
	d.mu.Lock()
	controls := slices.Collect(maps.Keys(d.controls))
	d.mu.Unlock()
	for _, q := range d.openQPs() {
		q.stop()
	}
	for _, l := range controls {
		l.cut()
	}
	d.handshakes.Close()
	d.listeners.Close()
}

var _ fabric.Device = (*Device)(nil)

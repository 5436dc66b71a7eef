package shm

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
	"github.com/remora-kv/remora/fabric/internal/direct"
	"github.com/remora-kv/remora/internal/affinity"
	"github.com/remora-kv/remora/internal/arena"
)

// Config describes a device.
type Config struct {
	// Name is the device's name in logs; empty means shm0.
	Name string
	// RuntimeDir is where the sockets of datagram queue pairs are made; empty
	// means $XDG_RUNTIME_DIR, or else the directory for temporary files.
	RuntimeDir string
}

type core = direct.Core

// hooks is what a Device does for its core.
type hooks Device

// Device is a shared-memory device.
type Device struct {
	*core
	cfg    Config
	arena  *arena.Arena
	killed atomic.Bool

	listeners base.OpenSet[*listener]

	// share keeps the descriptor of a region from being closed, and its number
	// taken by another file, while it is being handed to a peer.
	share sync.RWMutex

	mu       sync.Mutex
	opening  map[socket]struct{} // sockets of connections being made
	controls map[*control]struct{}
	grams    *udListener
	closed   bool
}

// New makes a device.
func New(cfg Config) (*Device, error) {
	if cfg.Name == "" {
		cfg.Name = "shm0"
	}
	if cfg.RuntimeDir == "" {
		if cfg.RuntimeDir = os.Getenv("XDG_RUNTIME_DIR"); cfg.RuntimeDir == "" {
			cfg.RuntimeDir = os.TempDir()
		}
	}
	d := &Device{
		cfg: cfg, arena: arena.New(), opening: map[socket]struct{}{},
		controls: map[*control]struct{}{},
	}
	limits := direct.DefaultLimits()
	limits.Mapped = true
	d.core = direct.NewCore("shm", cfg.Name, limits, (*hooks)(d))
	return d, nil
}

// Memory implements fabric.Device, and counts what it has mapped of peers, too.
func (d *Device) Memory() []fabric.Usage { return base.Memory(d.arena) }

// Close implements fabric.Device.
func (d *Device) Close() error {
	if err := d.CloseCore(); err != nil {
		return err
	}
	d.stopListening()
	return nil
}

// Kill makes the device vanish as if its process had died: all sockets are
// closed without notice to peers. It is for tests.
func (d *Device) Kill() {
	d.killed.Store(true)
	d.mu.Lock()
	for l := range d.controls {
		_ = l.sock.c.Close()
	}
	for s := range d.opening {
		_ = s.c.Close()
	}
	d.mu.Unlock()
	d.stopListening()
}

// open dials a socket; the device knows it until opened is called.
func (d *Device) open(ctx context.Context, path string) (socket, error) {
	s, err := dialSocket(ctx, path)
	if err != nil {
		return s, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.killed.Load() {
		_ = s.c.Close()
		return s, fabric.ErrClosed
	}
	d.opening[s] = struct{}{}
	return s, nil
}

// opened ends the handshake of a socket, which is closed unless it went well.
func (d *Device) opened(s socket, err error) {
	d.mu.Lock()
	delete(d.opening, s)
	d.mu.Unlock()
	if err != nil {
		_ = s.c.Close()
	}
}

func (d *Device) stopListening() {
	d.mu.Lock()
	d.closed = true
	grams := d.grams
	d.grams = nil
	d.mu.Unlock()
	d.listeners.Close()
	if grams != nil {
		grams.close()
	}
}

// checkAddr refuses addresses of other fabrics.
func checkAddr(a fabric.Addr) error {
	if a.Fabric != "shm" || a.Name == "" {
		return fmt.Errorf("fabric: %v is not an address of shared memory; write shm:/path/to.sock: %w",
			a, fabric.ErrInvalid)
	}
	return a.CheckOptions(UserOption)
}

// Yield implements direct.Provider: peers are threads of other processes.
func (d *hooks) Yield() { affinity.Yield() }

package rocevm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/remora-kv/remora/internal/cycles"
)

// Cluster is what Boot booted: one guest, or two on a wire.
type Cluster struct {
	Guests []*Guest
	Accel  Accel         // what they run on
	Booted time.Duration // from the start of QEMU to active ports
	dir    string
}

// errNotReady is why a boot ends that takes longer than Config.BootTimeout.
var errNotReady = errors.New("not ready")

// Boot builds the image, boots the guests and waits until all their ports are
// active. Close must be called. A boot that takes too long is tried once more: an
// emulated kernel on a busy host can stop before it has printed a line.
func Boot(ctx context.Context, cfg Config) (*Cluster, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	c, err := bootOnce(ctx, cfg)
	if errors.Is(err, errNotReady) && ctx.Err() == nil {
		cfg.Log("booting once more: %v", err)
		c, err = bootOnce(ctx, cfg)
	}
	return c, err
}

func bootOnce(ctx context.Context, cfg Config) (*Cluster, error) {
	dir, err := TempDir()
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir: dir}
	if err := c.boot(ctx, cfg); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Cluster) boot(ctx context.Context, cfg Config) error {
	k, err := c.prepare(ctx, &cfg)
	if err != nil {
		return err
	}
	start := time.Now()
	c.Accel = cfg.Accel
	configs, guests, err := c.plan(cfg, k)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, cfg.BootTimeout, fmt.Errorf("%w after %v", errNotReady, cfg.BootTimeout))
	defer cancel()
	errs := make([]error, len(guests))
	var wg sync.WaitGroup
	for i, g := range guests {
		wg.Go(func() {
			if errs[i] = connect(ctx, configs[i], g); errs[i] != nil {
				cancel() // the other guest's boot has no purpose any more
			}
		})
	}
	wg.Wait()
	for i, g := range guests {
		if errs[i] == nil {
			c.Guests = append(c.Guests, g)
		}
	}
	c.Booted = time.Since(start)
	return errors.Join(errs...)
}

// prepare makes kernel and image, and settles the accelerator.
func (c *Cluster) prepare(ctx context.Context, cfg *Config) (*kernel, error) {
	store, err := openCache(cfg.CacheDir, cfg.Log)
	if err != nil {
		return nil, err
	}
	unlock, err := store.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	k, err := store.kernel(ctx)
	if err != nil {
		return nil, err
	}
	b, err := store.base(ctx, k)
	if err != nil {
		return nil, err
	}
	agentPath := filepath.Join(c.dir, "agent")
	if err := buildAgent(ctx, agentPath); err != nil {
		return nil, err
	}
	payload, err := payloadFiles(ctx, b, agentPath, cfg.Files)
	if err != nil {
		return nil, err
	}
	if err := writeInitrd(c.initrd(), b, payload); err != nil {
		return nil, err
	}
	if cfg.Accel == AccelAuto {
		cfg.Accel = store.chooseAccel(ctx, k, c.initrd())
	}
	return k, nil
}

func (c *Cluster) initrd() string { return filepath.Join(c.dir, "initrd") }

func buildAgent(ctx context.Context, path string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", path, agentPackage)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64", "GOFLAGS=")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("rocevm: build the guest's agent: %w; run rocevm inside the module\n%s", err, text)
	}
	return nil
}

// plan lays out the machines: their names, addresses and wire.
func (c *Cluster) plan(cfg Config, k *kernel) ([]machineConfig, []*Guest, error) {
	names, iface := []string{"guest"}, "veth0"
	var wires [2]*os.File
	if cfg.Guests == 2 {
		names, iface = []string{"server", "client"}, "eth0"
		var err error
		if wires[0], wires[1], err = socketPair(); err != nil {
			return nil, nil, err
		}
	}
	tsc := int(cycles.Calibrate().PerSecond() / 1000)
	var configs []machineConfig
	var guests []*Guest
	for i, name := range names {
		g := &Guest{Name: name, Address: firstAddress, Peer: firstAddress, Iface: iface}
		if cfg.Guests == 2 {
			g.Peer = secondAddress
		}
		if i == 1 {
			g.Address, g.Peer = secondAddress, firstAddress
		}
		guests = append(guests, g)
		configs = append(configs, machineConfig{
			name: name, kernel: k.image, initrd: c.initrd(), accel: cfg.Accel,
			memory: cfg.Memory, cpus: cfg.CPUs, tscKHz: tsc,
			wire: wires[i], mac: "52:54:00:77:00:0" + strconv.Itoa(i+1),
			params: map[string]string{
				"guest": name, "iface": iface, "self": g.Address, "peer": g.Peer,
				"device": deviceName, "gid": "1", "mtu": strconv.Itoa(cfg.MTU),
			},
		})
	}
	return configs, guests, nil
}

// Server is the first guest.
func (c *Cluster) Server() *Guest { return c.Guests[0] }

// Client is the last guest; with one guest, the same as Server.
func (c *Cluster) Client() *Guest { return c.Guests[len(c.Guests)-1] }

// Close powers the guests off and leaves nothing behind.
func (c *Cluster) Close() {
	var wg sync.WaitGroup
	for _, g := range c.Guests {
		wg.Go(g.powerOff)
	}
	wg.Wait()
	_ = os.RemoveAll(c.dir) // a directory for temporary files is cleaned by others at worst
}

// String says what was booted.
func (c *Cluster) String() string {
	names := make([]string, 0, len(c.Guests))
	for _, g := range c.Guests {
		names = append(names, g.Name+" "+g.Address)
	}
	return fmt.Sprintf("%s, kernel %s, %s, booted in %.1f s", strings.Join(names, " and "), c.Guests[0].Release, c.Accel, c.Booted.Seconds())
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

//go:build rdma

package verbs

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/gid"
)

// Config chooses an adapter. The zero value takes the first device that has an
// active port, that port, and its best GID.
//
// With Near, a port with a GID of the interface that leads there comes first,
// and of its GIDs one with the very address that the system would use.
type Config struct {
	// Device is the name of the device, such as mlx5_0; empty is the first that
	// will do.
	Device string
	// Port is the number of the port; 0 is the first that is active.
	Port int
	// GID is an index in the port's table; empty or "auto" is the best.
	GID string
	// CM says whether RC queue pairs are connected by the connection manager:
	// "on", "off", or, empty or "auto", where both ends have one.
	CM string
	// Tuning is how queue pairs are made.
	Tuning Tuning
	// Near is host:port of a peer, or where this side listens.
	Near string
	// Log, when not nil, receives what was chosen, and later what happens to the port.
	Log *slog.Logger
}

// ConfigOf reads an address and its options: device, port, gid, cm and those of Tuning.
func ConfigOf(addr fabric.Addr) (Config, error) {
	cfg := Config{
		Device: addr.Options.Get("device"), GID: addr.Options.Get("gid"), CM: addr.Options.Get("cm"), Near: addr.Name,
	}
	if p := addr.Options.Get("port"); p != "" {
		n, err := strconv.Atoi(p)
		if err != nil || n < 1 {
			return cfg, fmt.Errorf("fabric: verbs: port=%s in %v is not the number of a port: %w", p, addr, fabric.ErrInvalid)
		}
		cfg.Port = n
	}
	if err := addr.CheckOptions(optionNames()...); err != nil {
		return cfg, err
	}
	var err error
	if cfg.Tuning, err = tuningOf(addr); err != nil {
		return cfg, err
	}
	return cfg, cfg.checkCM()
}

func (c *Config) checkCM() error {
	if !slices.Contains([]string{"", "auto", "on", "off"}, c.CM) {
		return fmt.Errorf("fabric: verbs: cm=%s is unknown: use auto, on or off: %w", c.CM, fabric.ErrInvalid)
	}
	return nil
}

// Choice is the adapter that a device stands for, for logs.
type Choice struct {
	Device   string
	Firmware string
	Port     int
	// Ethernet says that the port is RoCE and not InfiniBand.
	Ethernet bool
	MTU      int
	// GID is the address of the port, GIDs how many it has.
	GID  gid.Entry
	GIDs int
	// Near says that the GID is of the interface that leads to Config.Near.
	Near bool
}

// String describes the choice.
func (c *Choice) String() string {
	layer := "InfiniBand"
	if c.Ethernet {
		layer = "Ethernet"
	}
	return fmt.Sprintf("%s port %d (%s, MTU %d), GID %d of %d (%s)",
		c.Device, c.Port, layer, c.MTU, c.GID.Index, c.GIDs, &c.GID)
}

// adapter is an opened device with the port that is used.
type adapter struct {
	ctx    hwContext
	caps   hwCaps
	port   hwPort
	choice Choice
	tuning Tuning
	// vectors is the number of completion vectors.
	vectors int
}

// openAdapter opens what cfg asks for.
func openAdapter(cfg Config) (*adapter, error) {
	if err := loadLibrary(); err != nil {
		return nil, err
	}
	names, err := listDevices()
	if err != nil {
		return nil, fmt.Errorf("fabric: verbs: the kernel has no RDMA devices (%w): load its modules with "+
			"modprobe -a ib_uverbs rdma_ucm; remora doctor says what is missing: %w", err, fabric.ErrUnsupported)
	}
	route := routeTo(cfg.Near)
	if cfg.Device != "" {
		if !slices.Contains(names, cfg.Device) {
			return nil, fmt.Errorf("fabric: verbs: no device %s; there are: %s: %w",
				cfg.Device, or(strings.Join(names, ", "), "none"), fabric.ErrInvalid)
		}
		return openDevice(cfg.Device, cfg, route)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("fabric: verbs: this machine has no RDMA device: check the driver of the NIC, or let a plain NIC "+
			"stand in with modprobe rdma_rxe and rdma link add rxe0 type rxe netdev IFACE; remora doctor says more: %w",
			fabric.ErrUnsupported)
	}
	var first *adapter
	var errs []error
	for _, name := range names {
		a, err := openDevice(name, cfg, route)
		switch {
		case err != nil:
			errs = append(errs, err)
		case a.choice.Near || first == nil:
			first.close()
			first = a
		default:
			a.close()
		}
		if first != nil && (first.choice.Near || route == nil) {
			break
		}
	}
	if first == nil {
		return nil, errors.Join(errs...)
	}
	return first, nil
}

func (a *adapter) close() {
	if a != nil {
		_ = a.ctx.close()
	}
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// openDevice opens a device and chooses port and GID.
func openDevice(name string, cfg Config, route *route) (*adapter, error) {
	ctx, err := openContext(name)
	if err != nil {
		hint := ""
		if errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM) {
			hint = "; let the user open /dev/infiniband: add it to the group that owns it, often rdma"
		}
		return nil, fmt.Errorf("fabric: verbs: device %s: %w%s", name, err, hint)
	}
	a := &adapter{ctx: ctx, choice: Choice{Device: name}, tuning: cfg.Tuning, vectors: ctx.vectors()}
	err = a.choose(cfg, route)
	if err == nil {
		err = a.checkTuning(&cfg.Tuning)
	}
	if err != nil {
		_ = ctx.close()
		return nil, fmt.Errorf("fabric: verbs: device %s: %w", name, err)
	}
	return a, nil
}

// choose takes the port asked for, or the first that is active and on the route,
// or the first that is active.
func (a *adapter) choose(cfg Config, route *route) error {
	var err error
	if a.caps, err = a.ctx.caps(); err != nil {
		return err
	}
	first, last := 1, a.caps.ports
	if cfg.Port != 0 {
		if cfg.Port > last {
			return fmt.Errorf("no port %d, the device has %d: %w", cfg.Port, last, fabric.ErrInvalid)
		}
		first, last = cfg.Port, cfg.Port
	}
	var errs []error
	for num := first; num <= last && !a.choice.Near; num++ {
		p, err := a.ctx.port(num)
		if err != nil {
			return fmt.Errorf("port %d: %w", num, err)
		}
		if !p.active {
			continue
		}
		c := Choice{
			Device: a.choice.Device, Firmware: a.caps.firmware, Port: num, Ethernet: p.ethernet, MTU: p.mtu,
		}
		if err := c.chooseGID(a.gids(num), cfg.GID, route); err != nil {
			errs = append(errs, err)
		} else if a.choice.Port == 0 || c.Near {
			a.port, a.choice = p, c
		}
	}
	if a.choice.Port == 0 && len(errs) == 0 {
		return fmt.Errorf("no port is active: check the cable and the switch, and that the interface is up "+
			"(RoCE: ip link set IFACE up) or a subnet manager runs (InfiniBand): %w", fabric.ErrUnsupported)
	}
	if a.choice.Port == 0 {
		return errors.Join(errs...)
	}
	return nil
}

// chooseGID takes the GID asked for, or the best of those on the route, or the
// best.
func (c *Choice) chooseGID(entries []gid.Entry, want string, route *route) error {
	c.GIDs = len(entries)
	if want != "" && want != "auto" {
		i := slices.IndexFunc(entries, func(e gid.Entry) bool { return strconv.Itoa(e.Index) == want })
		if i < 0 {
			return fmt.Errorf("port %d has no GID %s; there are: %s: %w", c.Port, want, describe(entries), fabric.ErrInvalid)
		}
		c.GID, c.Near = entries[i], route.uses(&entries[i])
		return nil
	}
	layer := "InfiniBand"
	if c.Ethernet {
		layer = gid.Ethernet
	}
	best := gid.Rank(route.filter(entries), layer)
	if best == nil {
		return fmt.Errorf("port %d has no GID: give its network interface an address: %w", c.Port, fabric.ErrUnsupported)
	}
	c.GID, c.Near = *best, route.uses(best)
	return nil
}

func describe(entries []gid.Entry) string {
	var all []string
	for i := range entries {
		all = append(all, fmt.Sprintf("%d (%s)", entries[i].Index, &entries[i]))
	}
	return or(strings.Join(all, ", "), "none")
}

// gids returns the GIDs of a port. An old library does not list them, but the
// kernel does.
func (a *adapter) gids(port int) []gid.Entry {
	raw, err := a.ctx.gids(port)
	if err != nil {
		return gid.Read(os.DirFS("/"), a.choice.Device, strconv.Itoa(port))
	}
	var out []gid.Entry
	for _, g := range raw {
		e := gid.Entry{Index: g.index, Addr: netip.AddrFrom16(g.gid), Kind: "IB/RoCE v1", Up: true}
		if g.kind == gidRoCEv2 {
			e.Kind = "RoCE v2"
		}
		if ifc, err := net.InterfaceByIndex(g.ifindex); err == nil && g.ifindex != 0 {
			e.Dev, e.Up = ifc.Name, ifc.Flags&net.FlagRunning != 0
		}
		out = append(out, e)
	}
	slices.SortFunc(out, func(x, y gid.Entry) int { return x.Index - y.Index })
	return out
}

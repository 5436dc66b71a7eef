package doctor

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
)

const ibDir = "sys/class/infiniband"

// gid is an address of a port.
type gid struct {
	index int
	addr  netip.Addr
	kind  string // "RoCE v2", "IB/RoCE v1"
	dev   string // network interface
	up    bool   // the interface is up
}

// probePorts looks at the ports of all RDMA devices.
func probePorts(p *patient) {
	devices := p.list(ibDir)
	if len(devices) == 0 {
		p.noHW = "no RDMA device"
		p.no("rdma devices", "none in /sys/class/infiniband", "no NIC with RDMA, or its driver is not loaded; "+
			"a plain NIC can stand in with Soft-RoCE (rdma link add rxe0 type rxe netdev IFACE)", nil)
		return
	}
	p.noHW = "no port of an RDMA device is active and has a GID"
	for _, dev := range devices {
		for _, port := range p.list(path.Join(ibDir, dev, "ports")) {
			if p.port(dev, port) {
				p.noHW = ""
			}
		}
	}
}

// port reports on one port and returns whether it is usable.
func (p *patient) port(dev, port string) bool {
	dir := path.Join(ibDir, dev, "ports", port)
	state := afterColon(p.line(dir + "/state"))
	layer := p.line(dir + "/link_layer")
	rate := p.line(dir + "/rate")
	gids := p.gids(dir)
	v := map[string]any{
		"device": dev, "port": port, "state": state, "link_layer": layer, "rate": rate,
		"firmware": p.line(path.Join(ibDir, dev, "fw_ver")), "gids": gidValues(gids),
	}
	name := "rdma port " + dev + "/" + port
	found := strings.Join(slices.DeleteFunc([]string{or(state, "unknown state"), layer, rate}, empty), ", ")
	if state != "ACTIVE" {
		p.warn(name, found, "the port carries nothing: check the cable and the switch, "+portUp(layer), v)
		return false
	}
	best := rank(gids, layer)
	if best == nil {
		p.no(name, found+", no GID", "give its network interface an address: ip addr add ADDRESS dev IFACE", v)
		return false
	}
	v["gid"] = best.index
	found += fmt.Sprintf("; takes GID %d (%s) of %d", best.index, best, len(gids))
	if layer == "Ethernet" && best.kind != "RoCE v2" {
		p.warn(name, found, "RoCE v1 does not cross routers; enable RoCE v2 (cma_roce_mode) and give the interface an IP address", v)
		return true
	}
	p.advise(name, found, gidAdvice(gids, best, dev), v)
	return true
}

func empty(s string) bool { return s == "" }

func portUp(layer string) string {
	if layer == "InfiniBand" {
		return "and that a subnet manager runs"
	}
	return "and ip link set IFACE up"
}

// gidAdvice says how to take another GID, where there is a choice.
func gidAdvice(gids []gid, best *gid, dev string) string {
	var others []string
	for i := range gids {
		if g := &gids[i]; g.index != best.index && g.kind == best.kind && g.class() == best.class() {
			others = append(others, strconv.Itoa(g.index))
		}
	}
	if len(others) == 0 {
		return ""
	}
	return fmt.Sprintf("GID %s would do as well; choose one with rdma://HOST:PORT?device=%s&gid=N", strings.Join(others, ", "), dev)
}

// line returns a file's first line.
func (p *patient) line(file string) string {
	text, _ := p.read(file)
	first, _, _ := strings.Cut(text, "\n")
	return first
}

// afterColon turns "4: ACTIVE" into "ACTIVE".
func afterColon(s string) string {
	if _, rest, ok := strings.Cut(s, ":"); ok {
		return strings.TrimSpace(rest)
	}
	return s
}

// gids returns the GIDs of a port that are set, by index.
func (p *patient) gids(dir string) []gid {
	var out []gid
	for _, name := range p.list(dir + "/gids") {
		index, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		addr, ok := parseGID(p.line(dir + "/gids/" + name))
		if !ok {
			continue
		}
		g := gid{
			index: index, addr: addr,
			kind: p.line(dir + "/gid_attrs/types/" + name),
			dev:  p.line(dir + "/gid_attrs/ndevs/" + name),
		}
		// An interface that does not say is not held against it.
		g.up = g.dev == "" || p.line("sys/class/net/"+g.dev+"/operstate") != "down"
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b gid) int { return a.index - b.index })
	return out
}

// parseGID reads eight groups of four digits. All zero is an empty entry, and
// so is a link-local prefix without an identifier.
func parseGID(s string) (netip.Addr, bool) {
	raw, err := hex.DecodeString(strings.ReplaceAll(s, ":", ""))
	if err != nil || len(raw) != 16 {
		return netip.Addr{}, false
	}
	low := [8]byte(raw[8:])
	return netip.AddrFrom16([16]byte(raw)), low != [8]byte{}
}

// class ranks the address of a GID: IPv4 before global IPv6 before link-local.
func (g *gid) class() int {
	switch {
	case g.addr.Is4In6():
		return 3
	case g.addr.IsLinkLocalUnicast():
		return 1
	}
	return 2
}

// String describes the GID.
func (g *gid) String() string {
	s := g.addr.Unmap().String()
	if g.kind != "" {
		s = g.kind + ", " + s
	}
	if g.dev != "" {
		s += ", " + g.dev
	}
	return s
}

// rank returns the GID that would be taken. On Ethernet that is RoCE v2 before
// v1, an interface that is up before one that is down, a routable address
// before a local one, and the lowest index of equals. On InfiniBand it is the
// first.
func rank(gids []gid, layer string) *gid {
	if len(gids) == 0 {
		return nil
	}
	if layer != "Ethernet" {
		return &gids[0]
	}
	score := func(g *gid) int {
		n := g.class()
		if g.up {
			n += 10
		}
		if g.kind == "RoCE v2" {
			n += 100
		}
		return n
	}
	best := &gids[0]
	for i := range gids {
		if score(&gids[i]) > score(best) {
			best = &gids[i]
		}
	}
	return best
}

func gidValues(gids []gid) []map[string]any {
	out := []map[string]any{}
	for i := range gids {
		g := &gids[i]
		out = append(out, map[string]any{
			"index": g.index, "gid": g.addr.String(), "type": g.kind, "interface": g.dev,
		})
	}
	return out
}

package doctor

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/remora-kv/remora/internal/gid"
)

const ibDir = "sys/class/infiniband"

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
	gids := gid.Read(p.FS, dev, port)
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
	best := gid.Rank(gids, layer)
	if best == nil {
		p.no(name, found+", no GID", "give its network interface an address: ip addr add ADDRESS dev IFACE", v)
		return false
	}
	v["gid"] = best.Index
	found += fmt.Sprintf("; takes GID %d (%s) of %d", best.Index, best, len(gids))
	if layer == gid.Ethernet && best.Kind != "RoCE v2" {
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
func gidAdvice(gids []gid.Entry, best *gid.Entry, dev string) string {
	var others []string
	for i := range gids {
		if g := &gids[i]; g.Index != best.Index && g.Kind == best.Kind && g.Class() == best.Class() {
			others = append(others, strconv.Itoa(g.Index))
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

func gidValues(gids []gid.Entry) []map[string]any {
	out := []map[string]any{}
	for i := range gids {
		g := &gids[i]
		out = append(out, map[string]any{
			"index": g.Index, "gid": g.Addr.String(), "type": g.Kind, "interface": g.Dev,
		})
	}
	return out
}

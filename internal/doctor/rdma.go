package doctor

import (
	"fmt"
	"net/netip"
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
		p.probePCI(dev)
		for _, port := range p.list(path.Join(ibDir, dev, "ports")) {
			if p.port(dev, port) && p.device(dev, port) {
				p.noHW = ""
			}
		}
	}
}

// device opens the device of a usable port and reports what it can do. A binary
// without the verbs provider cannot, and the verdict says so already.
func (p *patient) device(dev, port string) bool {
	num, err := strconv.Atoi(port)
	if !p.Verbs || p.TryDevice == nil || err != nil {
		return true
	}
	name := "rdma device " + dev
	lim, err := p.TryDevice(dev, num)
	if err != nil {
		p.noHW = "device " + dev + " cannot be opened"
		p.no(name, err.Error(), "see the lines above; what ibv_devinfo -d "+dev+" says may help", map[string]any{"device": dev})
		return false
	}
	v := map[string]any{"device": dev, "port": port, "limits": lim}
	if lim.MTU < p.roceMTU {
		p.warn(name, "opens; "+transports(&lim), fmt.Sprintf("its active MTU is %d, although the frames of its interface have room for %d: "+
			"take the interface down and up", lim.MTU, p.roceMTU), v)
	} else {
		p.ok(name, "opens; "+transports(&lim), v)
	}
	p.more(
		fmt.Sprintf("active MTU %d, messages up to %s, inline up to %s", lim.MTU, bytesText(lim.Message), bytesText(lim.Inline)),
		fmt.Sprintf("queues of %d requests of %d segments, completion queues of %d", lim.Depth, lim.Segments, lim.CQDepth),
		fmt.Sprintf("%d READs and atomics in flight on each queue pair, regions up to %s", lim.Reads, bytesText(lim.Region)),
	)
	return true
}

// transports says what kinds of queue pairs there are, and whether they do
// atomics.
func transports(lim *Limits) string {
	words := []string{"RC"}
	if lim.UC {
		words = append(words, "UC")
	}
	if lim.UD {
		words = append(words, "UD")
	}
	s := strings.Join(words, ", ")
	if lim.Atomics {
		return s + "; atomics"
	}
	return s + "; no atomics"
}

// bytesText writes a size in the largest unit that it reaches.
func bytesText(n int) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	at := 0
	for ; at+1 < len(units) && n >= 1<<10 && n%(1<<10) == 0; at++ {
		n >>= 10
	}
	return fmt.Sprintf("%d %s", n, units[at])
}

// port reports on one port and returns whether it is usable.
func (p *patient) port(dev, port string) bool {
	dir := path.Join(ibDir, dev, "ports", port)
	state := afterColon(p.line(dir + "/state"))
	layer := p.line(dir + "/link_layer")
	rate := p.line(dir + "/rate")
	gids, keys := gid.Read(p.FS, dev, port), p.pkeys(dev, port)
	v := map[string]any{
		"device": dev, "port": port, "state": state, "link_layer": layer, "rate": rate,
		"firmware": p.line(path.Join(ibDir, dev, "fw_ver")), "gids": gidValues(gids), "pkeys": keys,
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
	v["gid"], p.roceMTU = best.Index, 0
	if p.rdmaHost == "" && layer == gid.Ethernet && best.Class() > 1 {
		p.rdmaHost = hostText(best.Addr)
	}
	found += fmt.Sprintf("; takes GID %d (%s) of %d", best.Index, best, len(gids))
	if layer == gid.Ethernet && best.Kind != "RoCE v2" {
		p.warn(name, found, "RoCE v1 does not cross routers; enable RoCE v2 (cma_roce_mode) and give the interface an IP address", v)
	} else {
		p.advise(name, found, gidAdvice(gids, best, dev), v)
	}
	p.more(gidLines(gids, best)...)
	if len(keys) != 0 {
		p.more(pkeyLine(keys))
	}
	if layer == gid.Ethernet {
		p.network(dev, port, best)
	}
	return true
}

// hostText is an address as it stands in a URL.
func hostText(a netip.Addr) string {
	if a = a.Unmap(); a.Is4() {
		return a.String()
	}
	return "[" + a.String() + "]"
}

// mostGIDs is how many GIDs people get to see.
const mostGIDs = 8

// gidLines lists the GIDs of a port that has several.
func gidLines(gids []gid.Entry, best *gid.Entry) []string {
	var lines []string
	if len(gids) < 2 {
		return nil
	}
	for i := range gids {
		if i == mostGIDs {
			return append(lines, fmt.Sprintf("and %d more, which --json lists", len(gids)-i))
		}
		taken := ""
		if gids[i].Index == best.Index {
			taken = ", taken"
		}
		lines = append(lines, fmt.Sprintf("GID %d: %s%s", gids[i].Index, &gids[i], taken))
	}
	return lines
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

package doctor

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/remora-kv/remora/internal/gid"
)

// pkey is a partition key.
type pkey struct {
	Index int    `json:"index"`
	Key   string `json:"key"`
}

// pkeys returns the partition keys of a port by index.
func (p *patient) pkeys(dev, port string) []pkey {
	out := []pkey{}
	dir := path.Join(ibDir, dev, "ports", port, "pkeys")
	for _, file := range p.list(dir) {
		key := p.line(path.Join(dir, file))
		if index, err := strconv.Atoi(file); err == nil && key != "" && key != "0x0000" {
			out = append(out, pkey{index, key})
		}
	}
	slices.SortFunc(out, func(a, b pkey) int { return a.Index - b.Index })
	return out
}

// pkeyLine lists the partition keys of a port. The highest bit is that of a full member.
func pkeyLine(keys []pkey) string {
	var all []string
	for _, k := range keys {
		text := fmt.Sprintf("%d is %s", k.Index, k.Key)
		if n, err := strconv.ParseUint(k.Key, 0, 16); err == nil && n&0x8000 == 0 {
			text += " (limited: reaches full members only)"
		}
		all = append(all, text)
	}
	return "partition keys: " + strings.Join(all, ", ")
}

// roceMTU is the largest packet of RDMA that fits the frames of an interface, as the kernel reckons:
// with the largest headers that there are.
func roceMTU(netdev int) int {
	for mtu := 4096; mtu >= 256; mtu /= 2 {
		if mtu+96 <= netdev {
			return mtu
		}
	}
	return 0
}

// gaps count packets that were missing when later ones came, in the words of mlx5 and rxe.
var gaps = []string{"out_of_sequence", "packet_seq_err", "out_of_seq_request"}

// network reports how the network below a RoCE port treats its packets.
func (p *patient) network(dev, port string, g *gid.Entry) {
	net := "sys/class/net/" + g.Dev
	mtu, err := strconv.Atoi(p.line(net + "/mtu"))
	if err != nil {
		return
	}
	p.roceMTU = roceMTU(mtu)
	v := map[string]any{"device": dev, "port": port, "interface": g.Dev, "mtu": mtu, "rdma_mtu": p.roceMTU}
	found := []string{fmt.Sprintf("%s, MTU %d: packets of RDMA carry up to %d bytes", g.Dev, mtu, p.roceMTU)}
	var advice []string
	if p.roceMTU < 4096 {
		advice = append(advice, fmt.Sprintf("ip link set %s mtu 9000, if all switches and peers have as much", g.Dev))
	}
	dir := path.Join(ibDir, dev)
	for _, f := range []struct{ name, file, text string }{
		{"traffic_class", path.Join(dir, "tc", port, "traffic_class"), "traffic class of all packets: "},
		{"roce_tos", path.Join("sys/kernel/config/rdma_cm", dev, "ports", port, "default_roce_tos"), "traffic class by rdma_cm: "},
		{"trust", net + "/qos/trust", "trusts "},
		{"pfc", net + "/qos/pfc", "PFC: "},
	} {
		if s := p.line(f.file); s != "" {
			found, v[f.name] = append(found, f.text+s), s
		}
	}
	if v["pfc"] == nil || v["trust"] == nil {
		advice = append(advice, fmt.Sprintf("dcb pfc show dev %s and mlnx_qos -i %s say which priorities are lossless; choose one with "+
			"rdma://HOST:PORT?tclass=DSCP*4 (trust dscp) or ?sl=PRIORITY (trust pcp)", g.Dev, g.Dev))
	}
	warn := false
	for _, name := range gaps {
		n := p.line(path.Join(dir, "ports", port, "hw_counters", name))
		if n != "" && n != "0" {
			found, v[name], warn = append(found, name+" "+n), n, true
		}
	}
	name, text := "rdma network "+dev+"/"+port, strings.Join(found, "; ")
	if warn {
		advice = slices.Insert(advice, 0, "packets have been lost since the driver was loaded: "+
			"give RDMA a priority with flow control (PFC or ECN) on all switches between")
		p.warn(name, text, strings.Join(advice, "; "), v)
		return
	}
	p.advise(name, text, strings.Join(advice, "; "), v)
}

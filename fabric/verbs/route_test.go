package verbs

import (
	"net"
	"net/netip"
	"testing"

	"github.com/remora-kv/remora/internal/gid"
)

func entry(index int, addr, kind, dev string) gid.Entry {
	raw := netip.MustParseAddr(addr).As16()
	return gid.Entry{Index: index, Addr: netip.AddrFrom16(raw), Kind: kind, Dev: dev, Up: true}
}

// The GIDs of the interface that leads to the peer come before better ones
// elsewhere.
func TestWayFilter(t *testing.T) {
	entries := []gid.Entry{
		entry(0, "fe80::1", "IB/RoCE v1", "eth0"),
		entry(1, "fe80::1", "RoCE v2", "eth0"),
		entry(2, "10.0.0.5", "IB/RoCE v1", "eth0"),
		entry(3, "10.0.0.5", "RoCE v2", "eth0"),
		entry(4, "192.168.7.5", "RoCE v2", "eth0.7"),
		entry(5, "fe80::2", "RoCE v2", "eth1"),
	}
	for _, c := range []struct {
		route *route
		want  int
		near  bool
	}{
		{nil, 3, false},
		{&route{from: netip.MustParseAddr("10.0.0.5"), ifc: "eth0"}, 3, true},
		{&route{from: netip.MustParseAddr("192.168.7.5"), ifc: "eth0.7"}, 4, true},
		{&route{from: netip.MustParseAddr("192.168.7.6"), ifc: "eth0.7"}, 4, true},
		{&route{from: netip.MustParseAddr("10.9.9.9"), ifc: "eth1"}, 5, true},
		{&route{from: netip.MustParseAddr("10.9.9.9"), ifc: "wlan0"}, 3, false},
		{&route{from: netip.MustParseAddr("10.9.9.9")}, 3, false},
	} {
		best := gid.Rank(c.route.filter(entries), gid.Ethernet)
		if best == nil || best.Index != c.want || c.route.uses(best) != c.near {
			t.Errorf("way %+v: takes %v, want %d", c.route, best, c.want)
		}
	}
}

// An InfiniBand port is known by the hardware address of IPoIB.
func TestWayOfInfiniBand(t *testing.T) {
	e := entry(0, "fe80::2:c903:1:2", "", "")
	raw := e.Addr.As16()
	w := &route{from: netip.MustParseAddr("10.0.0.5"), ifc: "ib0", hardware: append(net.HardwareAddr{0, 0, 2, 8}, raw[:]...)}
	if !w.uses(&e) {
		t.Error("the port below the interface is not on the way")
	}
	if other := entry(0, "fe80::2:c903:1:3", "", ""); w.uses(&other) {
		t.Error("another port is on the way")
	}
}

func TestWayTo(t *testing.T) {
	for _, near := range []string{"", "here", ":7000", "0.0.0.0:0", "127.0.0.1:0", "localhost:7000", "[::1]:1"} {
		if w := routeTo(near); w != nil {
			t.Errorf("wayTo(%q) leads by %+v", near, w)
		}
	}
	all, _ := net.Interfaces()
	for _, ifc := range all {
		addrs, _ := ifc.Addrs()
		for _, a := range addrs {
			n, ok := a.(*net.IPNet)
			if !ok || n.IP.IsLoopback() || n.IP.To4() == nil || ifc.Flags&net.FlagUp == 0 {
				continue
			}
			// The route to an own address begins there.
			w := routeTo(net.JoinHostPort(n.IP.String(), "0"))
			if w == nil || w.from.String() != n.IP.String() || w.ifc != ifc.Name {
				t.Errorf("the way to %v of %s is %+v", n.IP, ifc.Name, w)
			}
		}
	}
}

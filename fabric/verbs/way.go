package verbs

import (
	"bytes"
	"context"
	"net"
	"net/netip"
	"time"

	"github.com/remora-kv/remora/internal/gid"
)

// way is how the system reaches a host: its own address then, and the network
// interface that has it. A nil way leads nowhere in particular.
type way struct {
	from     netip.Addr
	ifc      string
	hardware net.HardwareAddr
}

// wayTime bounds how long the name of a host may take to be found.
const wayTime = 2 * time.Second

// wayTo asks the system for the way to host:port, a peer's or one of its own.
// It returns nil when there is none, and when the way does not leave the host.
func wayTo(near string) *way {
	host, port, err := net.SplitHostPort(near)
	if err != nil || host == "" {
		return nil
	}
	if port == "0" {
		port = "1" // no packet is sent
	}
	ctx, cancel := context.WithTimeout(context.Background(), wayTime)
	defer cancel()
	var dialer net.Dialer
	c, err := dialer.DialContext(ctx, "udp", net.JoinHostPort(host, port))
	if err != nil {
		return nil
	}
	defer func() { _ = c.Close() }()
	local, err := netip.ParseAddrPort(c.LocalAddr().String())
	if err != nil || local.Addr().IsLoopback() {
		return nil
	}
	return wayFrom(local.Addr().Unmap().WithZone(""))
}

// wayFrom returns the way that begins at an address of this host.
func wayFrom(from netip.Addr) *way {
	w := &way{from: from}
	all, _ := net.Interfaces()
	for _, ifc := range all {
		addrs, _ := ifc.Addrs()
		for _, a := range addrs {
			n, ok := a.(*net.IPNet)
			if !ok {
				continue
			}
			if ip, ok := netip.AddrFromSlice(n.IP); ok && ip.Unmap() == from {
				w.ifc, w.hardware = ifc.Name, ifc.HardwareAddr
			}
		}
	}
	return w
}

// leadsBy reports whether a GID is of the way's interface: of RoCE on it, or of
// the InfiniBand port below it, whose address ends with the GID.
func (w *way) leadsBy(e *gid.Entry) bool {
	if w == nil {
		return false
	}
	raw := e.Addr.As16()
	return e.Addr.Unmap() == w.from || w.ifc != "" && e.Dev == w.ifc ||
		len(w.hardware) == 20 && bytes.Equal(w.hardware[4:], raw[:])
}

// filter returns the GIDs that come first: with the address, of the interface,
// or else all.
func (w *way) filter(entries []gid.Entry) []gid.Entry {
	if w == nil {
		return entries
	}
	var exact, near []gid.Entry
	for i := range entries {
		if e := &entries[i]; w.leadsBy(e) {
			near = append(near, *e)
			if e.Addr.Unmap() == w.from {
				exact = append(exact, *e)
			}
		}
	}
	switch {
	case len(exact) != 0:
		return exact
	case len(near) != 0:
		return near
	}
	return entries
}

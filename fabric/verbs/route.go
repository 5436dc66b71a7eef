package verbs

import (
	"bytes"
	"context"
	"net"
	"net/netip"
	"time"

	"github.com/remora-kv/remora/internal/gid"
)

// route is how the system reaches a host: its own address then, and the network
// interface that has it. A nil route leads nowhere in particular.
type route struct {
	from     netip.Addr
	ifc      string
	hardware net.HardwareAddr
}

// routeTime bounds how long the name of a host may take to be found.
const routeTime = 2 * time.Second

// routeTo asks the system for the route to host:port, a peer's or one of its own.
// It returns nil when there is none, and when the route does not leave the host.
func routeTo(near string) *route {
	host, port, err := net.SplitHostPort(near)
	if err != nil || host == "" {
		return nil
	}
	if port == "0" {
		port = "1" // no packet is sent
	}
	ctx, cancel := context.WithTimeout(context.Background(), routeTime)
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
	return routeFrom(local.Addr().Unmap().WithZone(""))
}

// routeFrom returns the route that begins at an address of this host.
func routeFrom(from netip.Addr) *route {
	w := &route{from: from}
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

// uses reports whether a GID is of the route's interface: of RoCE on it, or of
// the InfiniBand port below it, whose address ends with the GID.
func (w *route) uses(e *gid.Entry) bool {
	if w == nil {
		return false
	}
	raw := e.Addr.As16()
	return e.Addr.Unmap() == w.from || w.ifc != "" && e.Dev == w.ifc ||
		len(w.hardware) == 20 && bytes.Equal(w.hardware[4:], raw[:])
}

// filter returns the GIDs that come first: with the address, of the interface,
// or else all.
func (w *route) filter(entries []gid.Entry) []gid.Entry {
	if w == nil {
		return entries
	}
	var exact, near []gid.Entry
	for i := range entries {
		if e := &entries[i]; w.uses(e) {
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

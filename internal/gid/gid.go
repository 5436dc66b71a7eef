// Package gid knows the addresses (GIDs) of the ports of RDMA devices, as the
// kernel lists them in /sys, and which of them to take. On Ethernet a port has
// several, and the wrong one reaches no peer.
//
// # Which one
//
// On Ethernet RoCE v2 comes before v1, an interface that is up before one that
// is down, IPv4 before global IPv6 before link-local addresses, and the lowest
// index of equals. On InfiniBand it is the first.
//
// It is a package of its own because the provider (fabric/verbs) and internal/doctor must agree:
// the doctor says which address the provider takes, and internal packages do not import fabric.
package gid

import (
	"encoding/hex"
	"io/fs"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Entry is a GID of a port.
type Entry struct {
	Index int
	Addr  netip.Addr
	Kind  string // "RoCE v2", "IB/RoCE v1"
	Dev   string // network interface
	Up    bool   // the interface is up, or there is none
}

// Ethernet is the link layer of RoCE, as /sys calls it.
const Ethernet = "Ethernet"

// Read returns the GIDs of a port that are set, by index. root is the root of
// the file system, dev and port are names below /sys/class/infiniband.
func Read(root fs.FS, dev, port string) []Entry {
	dir := path.Join("sys/class/infiniband", dev, "ports", port)
	files, _ := fs.ReadDir(root, dir+"/gids")
	var out []Entry
	for _, f := range files {
		index, err := strconv.Atoi(f.Name())
		if err != nil {
			continue
		}
		addr, ok := Parse(line(root, dir+"/gids/"+f.Name()))
		if !ok {
			continue
		}
		e := Entry{
			Index: index, Addr: addr,
			Kind: line(root, dir+"/gid_attrs/types/"+f.Name()),
			Dev:  line(root, dir+"/gid_attrs/ndevs/"+f.Name()),
		}
		// An interface that does not say is not held against it.
		e.Up = e.Dev == "" || line(root, "sys/class/net/"+e.Dev+"/operstate") != "down"
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b Entry) int { return a.Index - b.Index })
	return out
}

// line returns the first line of a file, or nothing.
func line(root fs.FS, file string) string {
	b, _ := fs.ReadFile(root, file)
	first, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimSpace(first)
}

// Parse reads eight groups of four digits. All zero is an empty entry, and so
// is a link-local prefix without an identifier.
func Parse(s string) (netip.Addr, bool) {
	raw, err := hex.DecodeString(strings.ReplaceAll(s, ":", ""))
	if err != nil || len(raw) != 16 {
		return netip.Addr{}, false
	}
	low := [8]byte(raw[8:])
	return netip.AddrFrom16([16]byte(raw)), low != [8]byte{}
}

// Class ranks the address: 3 is IPv4, 2 global IPv6, 1 link-local.
func (e *Entry) Class() int {
	switch {
	case e.Addr.Is4In6():
		return 3
	case e.Addr.IsLinkLocalUnicast():
		return 1
	}
	return 2
}

// String describes the GID.
func (e *Entry) String() string {
	s := e.Addr.Unmap().String()
	if e.Kind != "" {
		s = e.Kind + ", " + s
	}
	if e.Dev != "" {
		s += ", " + e.Dev
	}
	return s
}

// Rank returns the GID to take of a port with the given link layer, or nil
// when there is none.
func Rank(entries []Entry, layer string) *Entry {
	if len(entries) == 0 {
		return nil
	}
	best := &entries[0]
	if layer != Ethernet {
		return best
	}
	for i := range entries {
		if e := &entries[i]; e.score() > best.score() {
			best = e
		}
	}
	return best
}

func (e *Entry) score() int {
	n := e.Class()
	if e.Up {
		n += 10
	}
	if e.Kind == "RoCE v2" {
		n += 100
	}
	return n
}

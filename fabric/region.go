package fabric

import "strings"

// Access are the rights that a region gives to peers. The owner may always
// read and write.
type Access uint8

// The rights.
const (
	RemoteRead Access = 1 << iota
	RemoteWrite
	RemoteAtomic
)

// String lists the rights, or "local".
func (a Access) String() string {
	var parts []string
	for i, name := range []string{"read", "write", "atomic"} {
		if a&(1<<i) != 0 {
			parts = append(parts, name)
		}
	}
	if len(parts) == 0 {
		return "local"
	}
	return strings.Join(parts, "+")
}

// Needs returns the right that op needs at the target.
func (o Op) Needs() Access {
	switch o {
	case OpRead:
		return RemoteRead
	case OpWrite, OpWriteImm:
		return RemoteWrite
	case OpFetchAdd, OpCmpSwap:
		return RemoteAtomic
	default:
		return 0
	}
}

// Region is memory registered with a device. Its bytes are zero at first and
// begin at a multiple of 4096.
type Region struct {
	mem      []byte
	addr     uint64
	key      uint32
	access   Access
	domain   Domain
	closer   func() error
	provider any
}

// RegionParams are what a provider knows of a region it made.
type RegionParams struct {
	Mem    []byte
	Addr   uint64
	Key    uint32
	Access Access
	Domain Domain
	// Close revokes the key and frees the memory.
	Close func() error
	// Provider is the provider's own part; Region.Provider returns it.
	Provider any
}

// NewRegion is for providers; programs call Domain.Alloc.
func NewRegion(p RegionParams) *Region {
	return &Region{
		mem: p.Mem, addr: p.Addr, key: p.Key, access: p.Access,
		domain: p.Domain, closer: p.Close, provider: p.Provider,
	}
}

// Bytes returns the memory. It is valid until Close.
func (r *Region) Bytes() []byte { return r.mem }

// Len returns the size in bytes.
func (r *Region) Len() int { return len(r.mem) }

// Access returns what peers may do.
func (r *Region) Access() Access { return r.access }

// Domain returns the protection domain.
func (r *Region) Domain() Domain { return r.domain }

// Remote returns the name under which a peer reaches the first byte.
func (r *Region) Remote() Remote { return Remote{Addr: r.addr, Key: r.key} }

// Seg returns a segment of n bytes at off.
func (r *Region) Seg(off, n int) Seg { return Seg{Region: r, Off: off, Len: n} }

// Provider returns the provider's own part of the region.
func (r *Region) Provider() any { return r.provider }

// Close revokes the key and ends the memory. Slices of Bytes must not be used
// afterwards. A second Close returns ErrClosed.
func (r *Region) Close() error { return r.closer() }

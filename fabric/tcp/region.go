package tcp

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/arena"
)

const (
	// regionAlign is where regions begin.
	regionAlign = 4096
	// regionSpan is the part of the address space that belongs to one index:
	// the bits of an address below are the place inside it.
	regionSpan = 44
	// maxRegion leaves most of the span to the random place of the region.
	maxRegion = 1 << 40
)

// region is what a key opens. It does not change; revoking takes it out of the
// table.
type region struct {
	mem    []byte
	base   uint64
	key    uint32
	access fabric.Access
	domain *domain
}

// reach returns the n > 0 bytes at addr that key opens for a queue pair of
// domain dom and an operation with the given needs, or nil (G7). The result may
// be used under the lock of a queue pair that was held before the call (I6).
func (d *Device) reach(dom *domain, key uint32, addr, n uint64, needs fabric.Access) []byte {
	r := d.regions.get(uint16(key))
	if r == nil || r.key != key || r.domain != dom || r.access&needs != needs {
		return nil
	}
	off := addr - r.base
	if size := uint64(len(r.mem)); off > size || n > size-off {
		return nil
	}
	return r.mem[off : off+n : off+n]
}

// Alloc implements fabric.Domain.
func (m *domain) Alloc(purpose string, size int, access fabric.Access) (*fabric.Region, error) {
	d := m.dev
	if size <= 0 || size > d.limits.MaxRegion {
		return nil, fmt.Errorf("fabric: region %q of %d bytes, the device takes 1 to %d: %w",
			purpose, size, d.limits.MaxRegion, fabric.ErrInvalid)
	}
	var noise [10]byte
	if _, err := rand.Read(noise[:]); err != nil {
		return nil, fmt.Errorf("fabric: region %q: no random numbers for its key: %w", purpose, err)
	}
	block, mem, err := d.allocAligned(purpose, size)
	if err != nil {
		return nil, fmt.Errorf("fabric: region %q: %w", purpose, err)
	}
	r, err := m.enter(&region{mem: mem, access: access, domain: m}, noise)
	if err != nil {
		_ = block.Free()
		return nil, err
	}
	var closed atomic.Bool
	return fabric.NewRegion(fabric.RegionParams{
		Mem: mem, Addr: r.base, Key: r.key, Access: access, Domain: m,
		Close: func() error {
			if closed.Swap(true) {
				return fmt.Errorf("fabric: region %q: %w", purpose, fabric.ErrClosed)
			}
			m.leave(r)
			return block.Free()
		},
	}), nil
}

// allocAligned returns memory that begins at a multiple of regionAlign. Blocks
// of race builds are on the heap and do not.
func (d *Device) allocAligned(purpose string, size int) (*arena.Block, []byte, error) {
	block, err := d.arena.Alloc(purpose, size)
	if err != nil || misaligned(block.Bytes(), regionAlign) == 0 {
		return block, blockBytes(block), err
	}
	if err := block.Free(); err != nil {
		return nil, nil, err
	}
	if block, err = d.arena.Alloc(purpose, size+regionAlign); err != nil {
		return nil, nil, err
	}
	skip := misaligned(block.Bytes(), regionAlign)
	return block, block.Bytes()[skip : skip+size : skip+size], nil
}

func blockBytes(b *arena.Block) []byte {
	if b == nil {
		return nil
	}
	return b.Bytes()
}

// enter gives a region its key and address. The key is the index and 16 random
// bits; the address is the index and a random place in its span, so that a peer
// that was not given both must guess some 40 bits.
func (m *domain) enter(r *region, noise [10]byte) (*region, error) {
	d := m.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || m.contents.Closed {
		return nil, d.errClosed()
	}
	secret := uint32(binary.LittleEndian.Uint16(noise[8:]))
	places := (uint64(1)<<regionSpan - uint64(len(r.mem))) / regionAlign
	place := binary.LittleEndian.Uint64(noise[:]) % places * regionAlign
	got, err := d.regions.add(func(i uint16) *region {
		r.key = secret<<tableBits | uint32(i)
		r.base = (uint64(i)+1)<<regionSpan + place
		return r
	})
	if err != nil {
		return nil, fmt.Errorf("fabric: device %s: region keys: %w: %w", d.name, err, fabric.ErrInvalid)
	}
	m.contents.Regions++
	return got, nil
}

// leave revokes the key and returns when no thread touches the memory for a peer
// any more: a thread that had found the region before held the lock of a queue pair
// all the while (I6).
func (m *domain) leave(r *region) {
	d := m.dev
	d.regions.drop(uint16(r.key))
	for _, q := range d.qps.all() {
		q.mu.Lock()
		q.mu.Unlock() //lint:ignore SA2001 waiting for the holder is the point
	}
	d.mu.Lock()
	m.contents.Regions--
	d.mu.Unlock()
}

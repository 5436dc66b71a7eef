//go:build rdma

package verbs

import (
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/arena"
)

// region is registered memory.
type region struct {
	domain  *Domain
	purpose string
	block   *arena.Block
	size    int
	addr    uint64
	lkey    uint32
	rkey    uint32

	mu     sync.Mutex
	mr     hwMR // 0 when released
	closed bool
}

// Alloc implements fabric.Domain.
func (p *Domain) Alloc(purpose string, size int, access fabric.Access) (*fabric.Region, error) {
	d := p.dev
	if size <= 0 || size > d.lim.MaxRegion {
		return nil, fmt.Errorf("fabric: region %q of %d bytes, the device takes 1 to %d (its max_mr_size); "+
			"use several smaller regions: %w", purpose, size, d.lim.MaxRegion, fabric.ErrInvalid)
	}
	if err := p.lock(purpose, size); err != nil {
		return nil, err
	}
	r, err := p.register(purpose, size, access)
	if err != nil {
		p.unlock(size)
		return nil, err
	}
	return fabric.NewRegion(fabric.RegionParams{
		Mem: r.block.Bytes(), Addr: r.addr, Key: r.rkey, Access: access, Domain: p,
		Close: r.close, Provider: r,
	}), nil
}

// lock counts size bytes as pinned, if the system will allow it.
func (p *Domain) lock(purpose string, size int) error {
	d := p.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || p.closed {
		return p.errClosed()
	}
	if err := checkMemlock(d.locked, uint64(size)); err != nil {
		return fmt.Errorf("fabric: region %q: %w", purpose, err)
	}
	d.locked += uint64(size)
	return nil
}

func (p *Domain) unlock(size int) {
	p.dev.mu.Lock()
	p.dev.locked -= uint64(size)
	p.dev.mu.Unlock()
}

func (p *Domain) register(purpose string, size int, access fabric.Access) (*region, error) {
	b, err := p.dev.arena.Alloc(purpose, size)
	if err != nil {
		return nil, fmt.Errorf("fabric: region %q: %w", purpose, err)
	}
	b.HugePages()
	p.mu.RLock()
	defer p.mu.RUnlock()
	hw, err := p.registerFresh(b.Bytes(), access)
	if err != nil {
		_ = b.Free()
		return nil, fmt.Errorf("fabric: region %q of %d bytes: %w", purpose, size, explainPin(err))
	}
	r := &region{
		domain: p, purpose: purpose, block: b, size: size,
		addr: hw.addr, lkey: hw.lkey, rkey: hw.rkey, mr: hw.mr,
	}
	p.dev.mu.Lock()
	gone := p.closed || p.dev.closed
	if !gone {
		p.regions[r] = struct{}{}
	}
	p.dev.mu.Unlock()
	if gone {
		_ = hw.mr.close()
		_ = b.Free()
		return nil, p.errClosed()
	}
	return r, nil
}

// registerFresh registers memory under a key that was not revoked a moment
// ago: adapters choose keys, and some choose from few. p.mu is held.
func (p *Domain) registerFresh(mem []byte, access fabric.Access) (hwRegion, error) {
	var rejected []hwRegion
	defer func() {
		for _, r := range rejected {
			_ = r.mr.close()
		}
	}()
	for {
		if p.hw == 0 {
			return hwRegion{}, fabric.ErrClosed
		}
		hw, err := p.hw.register(mem, accessFlags(access))
		if err != nil || access == 0 || len(rejected) == 8 || !p.dev.wasRevoked(hw.rkey) {
			return hw, err
		}
		rejected = append(rejected, hw)
	}
}

// accessFlags are the rights of the library (I8).
func accessFlags(a fabric.Access) int {
	flags := accessLocal
	if a&fabric.RemoteRead != 0 {
		flags |= accessRead
	}
	if a&fabric.RemoteWrite != 0 {
		flags |= accessWrite
	}
	if a&fabric.RemoteAtomic != 0 {
		flags |= accessAtomic
	}
	return flags
}

// close revokes the key and frees the memory.
func (r *region) close() error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return fmt.Errorf("fabric: region %q: %w", r.purpose, fabric.ErrClosed)
	}
	r.closed = true
	r.mu.Unlock()
	if err := r.release(); err != nil {
		// The adapter may still write to it: it is better lost than reused.
		return fmt.Errorf("fabric: region %q: %w", r.purpose, err)
	}
	d := r.domain.dev
	d.mu.Lock()
	delete(r.domain.regions, r)
	d.locked -= uint64(r.size)
	d.revoked.add(r.rkey)
	d.mu.Unlock()
	return r.block.Free()
}

// release ends the registration. An adapter that is just answering a request
// may need another moment.
func (r *region) release() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mr == 0 {
		return nil
	}
	var err error
	for range 16 {
		if err = r.mr.close(); err == nil {
			r.mr = 0
			return nil
		}
		runtime.Gosched()
	}
	return fmt.Errorf("the adapter does not give it back: %w", err)
}

// keyRing holds the keys that were revoked last.
type keyRing struct {
	keys []uint32
	next int
}

// keysKept is how many revoked keys are not given out again.
const keysKept = 1024

func (k *keyRing) add(key uint32) {
	if len(k.keys) < keysKept {
		k.keys = append(k.keys, key)
		return
	}
	k.keys[k.next] = key
	k.next = (k.next + 1) % keysKept
}

func (d *Device) wasRevoked(key uint32) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Contains(d.revoked.keys, key)
}

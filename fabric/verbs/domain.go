//go:build rdma

package verbs

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/remora-kv/remora/fabric"
)

// Domain is a protection domain of the adapter (I8).
type Domain struct {
	dev *Device
	// mu is held while something is made with the handle and entered below, so
	// that Device.Close finds all of it. It comes before dev.mu.
	mu sync.RWMutex
	hw hwPD // 0 when released

	// The rest is guarded by dev.mu.
	closed  bool
	qps     int
	regions map[*region]struct{}
	handles map[*handle]struct{}
}

// NewDomain implements fabric.Device.
func (d *Device) NewDomain() (fabric.Domain, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, d.errClosed()
	}
	hw, err := d.adapter.Load().ctx.newPD()
	if err != nil {
		return nil, fmt.Errorf("fabric: device %s: protection domain: %w", d.Name(), err)
	}
	p := &Domain{dev: d, hw: hw, regions: map[*region]struct{}{}, handles: map[*handle]struct{}{}}
	d.domains[p] = struct{}{}
	return p, nil
}

func (p *Domain) errClosed() error { return fmt.Errorf("fabric: domain: %w", fabric.ErrClosed) }

// Close implements fabric.Domain.
func (p *Domain) Close() error {
	d := p.dev
	p.mu.Lock()
	defer p.mu.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case p.closed:
		return p.errClosed()
	case len(p.regions)+p.qps+len(p.handles) != 0:
		return fmt.Errorf("fabric: domain has %d regions, %d queue pairs and %d address handles; close them first: %w",
			len(p.regions), p.qps, len(p.handles), fabric.ErrBusy)
	}
	if p.hw != 0 {
		if err := p.hw.close(); err != nil {
			return fmt.Errorf("fabric: domain: %w", err)
		}
		p.hw = 0
	}
	p.closed = true
	delete(d.domains, p)
	return nil
}

// release frees what the adapter holds, because the device is closed.
func (p *Domain) release() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dev.mu.Lock()
	regions := slices.Collect(maps.Keys(p.regions))
	handles := slices.Collect(maps.Keys(p.handles))
	p.dev.mu.Unlock()
	for _, h := range handles {
		_ = h.release()
	}
	for _, r := range regions {
		if err := r.release(); err != nil {
			return err
		}
	}
	if p.hw == 0 {
		return nil
	}
	err := p.hw.close()
	p.hw = 0
	return err
}

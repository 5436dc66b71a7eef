package direct

import (
	"context"
	"fmt"

	"github.com/remora-kv/remora/fabric"
)

// Domain is a protection domain.
type Domain struct {
	core *Core
	// The rest is guarded by core.mu.
	regions, qps int
	closed       bool
}

// Alloc implements fabric.Domain.
func (p *Domain) Alloc(purpose string, size int, access fabric.Access) (*fabric.Region, error) {
	if size <= 0 || size > p.core.limits.MaxRegion {
		return nil, fmt.Errorf("fabric: region %q of %d bytes, the device takes 1 to %d: %w",
			purpose, size, p.core.limits.MaxRegion, fabric.ErrInvalid)
	}
	b, err := p.core.provider.AllocRegion(purpose, size, access)
	if err != nil {
		return nil, fmt.Errorf("fabric: region %q: %w", purpose, err)
	}
	r := &Exported{Backing: b, Size: size, Access: access, Domain: p}
	if err := p.core.addRegion(r); err != nil {
		_ = b.Free()
		return nil, err
	}
	return fabric.NewRegion(fabric.RegionParams{
		Mem: b.Mem, Addr: r.Addr, Key: r.Key, Access: access, Domain: p,
		Close: func() error { return p.closeRegion(r, purpose) },
	}), nil
}

func (p *Domain) closeRegion(r *Exported, purpose string) error {
	if !p.core.removeRegion(r) {
		return fmt.Errorf("fabric: region %q: %w", purpose, fabric.ErrClosed)
	}
	p.core.provider.RegionClosed(r.Key)
	return r.Backing.Free()
}

// NewUD implements fabric.Domain.
func (p *Domain) NewUD(cfg fabric.QPConfig) (fabric.QP, error) {
	if cfg.Transport != fabric.UD {
		return nil, fmt.Errorf("fabric: NewUD with transport %v: %w", cfg.Transport, fabric.ErrInvalid)
	}
	cfg.Domain = p
	q, err := NewQP(p.core, cfg)
	if err != nil {
		return nil, err
	}
	q.Start(nil)
	return q, nil
}

// NewAddressHandle implements fabric.Domain.
func (p *Domain) NewAddressHandle(ctx context.Context, addr []byte) (fabric.AddressHandle, error) {
	path, err := p.core.provider.GramOpen(ctx, addr)
	if err != nil {
		return nil, err
	}
	return newHandle(path), nil
}

// Close implements fabric.Domain.
func (p *Domain) Close() error {
	p.core.mu.Lock()
	defer p.core.mu.Unlock()
	switch {
	case p.closed:
		return fmt.Errorf("fabric: domain: %w", fabric.ErrClosed)
	case p.regions != 0 || p.qps != 0:
		return fmt.Errorf("fabric: domain has %d regions and %d queue pairs; close them first: %w",
			p.regions, p.qps, fabric.ErrBusy)
	}
	p.closed = true
	return nil
}

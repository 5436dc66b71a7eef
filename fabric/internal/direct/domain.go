package direct

import (
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

// NewDomain implements fabric.Device.
func (d *Core) NewDomain() (fabric.Domain, error) {
	if err := d.Open(); err != nil {
		return nil, err
	}
	return &Domain{core: d}, nil
}

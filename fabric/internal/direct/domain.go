package direct

import (
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
)

// Domain is a protection domain.
type Domain struct {
	core     *Core
	contents base.Contents // guarded by core.mu
}

// Close implements fabric.Domain.
func (p *Domain) Close() error {
	p.core.mu.Lock()
	defer p.core.mu.Unlock()
	return p.contents.Close()
}

// NewDomain implements fabric.Device.
func (d *Core) NewDomain() (fabric.Domain, error) {
	if err := d.Open(); err != nil {
		return nil, err
	}
	return &Domain{core: d}, nil
}

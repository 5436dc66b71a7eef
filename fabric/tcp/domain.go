package tcp

import (
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
)

// domain implements fabric.Domain.
type domain struct {
	dev      *Device
	contents base.Contents // guarded by dev.mu
}

// Close implements fabric.Domain.
func (m *domain) Close() error {
	m.dev.mu.Lock()
	defer m.dev.mu.Unlock()
	return m.contents.Close()
}

// NewDomain implements fabric.Device.
func (d *Device) NewDomain() (fabric.Domain, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, d.errClosed()
	}
	return &domain{dev: d}, nil
}

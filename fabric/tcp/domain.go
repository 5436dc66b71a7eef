package tcp

import (
	"fmt"

	"github.com/remora-kv/remora/fabric"
)

// domain implements fabric.Domain.
type domain struct {
	dev *Device
	// Guarded by dev.mu.
	regions, qps int
	closed       bool
}

// Close implements fabric.Domain.
func (m *domain) Close() error {
	m.dev.mu.Lock()
	defer m.dev.mu.Unlock()
	switch {
	case m.closed:
		return fmt.Errorf("fabric: domain: %w", fabric.ErrClosed)
	case m.regions != 0 || m.qps != 0:
		return fmt.Errorf("fabric: domain has %d regions and %d queue pairs; close them first: %w",
			m.regions, m.qps, fabric.ErrBusy)
	}
	m.closed = true
	return nil
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

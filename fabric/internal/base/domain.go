package base

import (
	"fmt"

	"github.com/remora-kv/remora/fabric"
)

// Contents count what a protection domain holds. The lock of the device guards them.
type Contents struct {
	Regions, QPs int
	Closed       bool
}

// Close is fabric.Domain.Close: it fails while the domain holds anything.
func (c *Contents) Close() error {
	switch {
	case c.Closed:
		return fmt.Errorf("fabric: domain: %w", fabric.ErrClosed)
	case c.Regions != 0 || c.QPs != 0:
		return fmt.Errorf("fabric: domain has %d regions and %d queue pairs; close them first: %w",
			c.Regions, c.QPs, fabric.ErrBusy)
	}
	c.Closed = true
	return nil
}

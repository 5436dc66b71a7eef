package loop

import (
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/direct"
)

const pageSize = 4096

// AllocRegion implements direct.Provider.
func (d *hooks) AllocRegion(_ string, size int, _ fabric.Access) (*direct.Backing, error) {
	return &direct.Backing{
		Mem:  direct.HeapBytes(size, pageSize),
		Live: new(atomic.Uint32),
		Free: func() error { return nil },
	}, nil
}

// RegionClosed implements direct.Provider: peers see the revoked key, and the
// collector does the rest (I1).
func (d *hooks) RegionClosed(uint32) {}

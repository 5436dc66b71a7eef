//go:build !linux

package process

import (
	"fmt"

	"github.com/remora-kv/remora/internal/affinity"
)

// narrow is for systems that have affinity.
func narrow(cpus []int) error {
	return fmt.Errorf("pinning to CPUs %v: %w", cpus, affinity.ErrUnsupported)
}

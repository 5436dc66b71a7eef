package host

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/internal/affinity"
)

// narrow lets this thread, and what it starts, run on nothing but cpus.
func narrow(cpus []int) error {
	allowed, err := affinity.Allowed()
	if err != nil {
		return err
	}
	var set unix.CPUSet
	for _, cpu := range cpus {
		if !slices.Contains(allowed, cpu) {
			return fmt.Errorf("CPU %d is not one of %v, which this process may use", cpu, allowed)
		}
		set.Set(cpu)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("pinning to CPUs %v: %w", cpus, err)
	}
	return nil
}

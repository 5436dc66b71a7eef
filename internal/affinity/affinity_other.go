//go:build !linux

package affinity

import (
	"fmt"
	"runtime"
)

// Allowed returns the CPUs that this process may run on, in ascending order.
func Allowed() ([]int, error) { return nil, unsupported("Allowed") }

// Pin locks the calling goroutine to its OS thread and that thread to one CPU.
func Pin(cpu int) (unpin func(), err error) { return nil, unsupported("Pin") }

// Apart returns n CPUs of this process on as many physical cores as there are.
func Apart(n int) ([]int, error) { return nil, unsupported("Apart") }

// Core names the physical core of a CPU: here each has its own, for all we know.
func Core(cpu int) int { return cpu }

// Here returns no place.
func Here() Place { return 0 }

// Yield does nothing.
func Yield() {}

func unsupported(name string) error {
	return fmt.Errorf("affinity: %s on %s: %w", name, runtime.GOOS, ErrUnsupported)
}

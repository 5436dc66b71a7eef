//go:build !linux

package call

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// processCPU returns the CPU time of this process.
func processCPU() (time.Duration, error) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("CPU time: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}

// threadCPU is not known where only processes have CPU time.
func threadCPU() (time.Duration, error) { return 0, nil }

const perThread = false

//go:build !linux

package cputime

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Process returns the CPU time of this process.
func Process() (time.Duration, error) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("CPU time: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}

// Thread is not known where only processes have CPU time.
func Thread() (time.Duration, error) { return 0, nil }

// PerThread says that Thread is of the thread alone.
const PerThread = false

//go:build !linux

package storetest

import "time"

var began = time.Now()

// cpuTime is the wall clock where that of a thread cannot be asked.
func cpuTime() time.Duration { return time.Since(began) }

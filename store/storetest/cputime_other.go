//go:build !linux

package storetest

import "time"

var began = time.Now()

// cpuTime returns the wall time, where there is no clock for a thread.
func cpuTime() time.Duration { return time.Since(began) }

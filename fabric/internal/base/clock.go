package base

import (
	"math"
	"time"
)

// Until returns the time d from now, for deadlines of package net, which takes no other clock.
func Until(d time.Duration) time.Time { return time.Now().Add(d) }

// Past returns a time that is over: a deadline that ends a blocked call at once.
func Past() time.Time { return time.Unix(1, 0) }

// After returns the moment d after t, or the end of time.
func After(t int64, d time.Duration) int64 {
	if int64(d) > math.MaxInt64-t {
		return math.MaxInt64
	}
	return t + int64(d)
}

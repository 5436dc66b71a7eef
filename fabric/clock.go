package fabric

import "time"

// Clock is the time that a device and everything above it goes by. Under
// simulation it is virtual.
type Clock interface {
	// Now returns nanoseconds since some fixed moment. It never goes back.
	Now() int64
}

// NewClock returns the machine's monotonic clock, counted from this call.
func NewClock() Clock { return monotonic{start: time.Now()} }

type monotonic struct{ start time.Time }

func (m monotonic) Now() int64 { return int64(time.Since(m.start)) }

package cachetest

import (
	"time"

	"go.uber.org/goleak"
)

// Leaked returns which goroutines are left, but for those that the options leave out, or
// nil when they have all ended. One that is about to end may wait for its turn on a busy
// machine for longer than goleak is ready to.
func Leaked(options ...goleak.Option) error {
	for end := time.Now().Add(Watchdog); ; {
		err := goleak.Find(options...)
		if err == nil || time.Now().After(end) {
			return err
		}
	}
}

package cachetest

import (
	"fmt"
	"os"
	"testing"
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

// NoLeaks fails the test if goroutines are left, but for those that the options leave out.
func NoLeaks(t testing.TB, options ...goleak.Option) {
	t.Helper()
	if err := Leaked(options...); err != nil {
		t.Error(err)
	}
}

// Main runs the tests of a package for TestMain. Goroutines that are left at the end are a
// failure.
func Main(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if err := Leaked(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

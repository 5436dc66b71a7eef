package storetest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora/test/scale"
)

// Options change how the suite runs. The zero value is what Run uses.
type Options struct {
	// Iterations multiplies the repetitions of the random cases, in
	// addition to IterationsVar. 0 means 1.
	Iterations int
	// Seed is mixed into the random choices of all cases. 0 means SeedVar,
	// or, without it, the same choices in every run.
	Seed uint64
	// Watchdog ends a case that hangs. 0 means DefaultWatchdog for each
	// iteration.
	Watchdog time.Duration
	// exact ignores IterationsVar: tests of the suite need fixed counts for flaws
	// that show rarely.
	exact bool
}

// DefaultWatchdog bounds the time of a case. The machine may be busy.
const DefaultWatchdog = 10 * time.Minute

// Environment variables that complete Options, so that any test that runs
// the suite can be run with other choices.
const (
	SeedVar       = scale.SeedVariable
	IterationsVar = scale.Variable
)

// complete fills in zero options.
func (o Options) complete(tb testing.TB) Options {
	tb.Helper()
	if o.Seed == 0 {
		o.Seed = seedFromEnv(tb)
	}
	if o.Iterations == 0 {
		o.Iterations = 1
	}
	if o.Watchdog == 0 {
		o.Watchdog = time.Duration(scale.Times(1)*o.Iterations) * DefaultWatchdog
	}
	return o
}

// seedFromEnv returns the number in SeedVar, 0 if it is not set.
func seedFromEnv(tb testing.TB) uint64 {
	tb.Helper()
	text := os.Getenv(SeedVar)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		tb.Fatalf("%s=%s: want a number of at most 64 bits: %v", SeedVar, text, err)
	}
	return n
}

// repeat returns the command that runs a test again, in the directory of its package.
// It includes the variables, because the counts affect the random choices.
func (o Options) repeat(test string) string {
	race := ""
	if scale.Race {
		race = "-race "
	}
	pattern := "^" + strings.ReplaceAll(test, "/", "$/^") + "$"
	iterations := ""
	if text := os.Getenv(IterationsVar); text != "" {
		iterations = IterationsVar + "=" + text + " "
	}
	return fmt.Sprintf("%s=%#x %sgo test -count=1 %s-run '%s' .", SeedVar, o.Seed, iterations, race, pattern)
}

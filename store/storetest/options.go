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
	// Iterations multiplies the repetitions of the cases that try at random. 0
	// means what IterationsVar says, and 1 without it. A nightly run may say 50.
	Iterations int
	// Seed is mixed into the random choices of all cases. 0 means what SeedVar
	// says, and without it the choices that are the same in every run.
	Seed uint64
	// Watchdog ends a case that hangs. 0 means DefaultWatchdog for each
	// iteration.
	Watchdog time.Duration
}

// DefaultWatchdog is how long a case may take. Others may use the machine.
const DefaultWatchdog = 10 * time.Minute

// Variables of the environment that fill in Options, so that any test that runs
// the suite can be run with other choices.
const (
	SeedVar       = scale.SeedVariable
	IterationsVar = scale.Variable
)

// complete fills in what the options leave open.
func (o Options) complete(tb testing.TB) Options {
	tb.Helper()
	if o.Seed == 0 {
		o.Seed = fromEnv(tb, SeedVar, 64)
	}
	if o.Iterations == 0 {
		o.Iterations = max(1, int(fromEnv(tb, IterationsVar, 16)))
	}
	if o.Watchdog == 0 {
		o.Watchdog = time.Duration(max(1, o.Iterations)) * DefaultWatchdog
	}
	return o
}

// fromEnv returns the number in a variable, 0 if it is not set.
func fromEnv(tb testing.TB, name string, bits int) uint64 {
	tb.Helper()
	text := os.Getenv(name)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseUint(text, 0, bits)
	if err != nil {
		tb.Fatalf("%s=%s: want a number of at most %d bits: %v", name, text, bits, err)
	}
	return n
}

// repeat is the command that runs a test again, in the directory of its package.
// Iterations are a part of it, since they decide which choices follow others.
func (o Options) repeat(test string) string {
	race := ""
	if scale.Race {
		race = "-race "
	}
	pattern := "^" + strings.ReplaceAll(test, "/", "$/^") + "$"
	return fmt.Sprintf("%s=%#x %s=%d go test -count=1 %s-run '%s' .", SeedVar, o.Seed, IterationsVar, o.Iterations, race, pattern)
}

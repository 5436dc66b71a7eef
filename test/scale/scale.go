// Package scale says how much work a test does, and by which choices.
//
// A test that tries something again and again, with other choices or under other
// timing, has a count that is right for CI: it notices the defects that it was
// written for. Times makes that count smaller in race builds, where everything takes
// ten times as long, and larger by the factor in REMORA_ITERATIONS, which make soak
// sets, for the defects that nobody has thought of.
package scale

import (
	"fmt"
	"os"
	"strconv"
)

// Variable holds a factor for the counts of all tests.
const Variable = "REMORA_ITERATIONS"

// slower is by how much counts are smaller in race builds.
const slower = 4

var factor, divisor = fromEnvironment(), 1

func init() {
	if Race {
		divisor = slower
	}
}

func fromEnvironment() int {
	text := os.Getenv(Variable)
	if text == "" {
		return 1
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		panic(fmt.Sprintf("%s=%s: want a number, at least 1", Variable, text))
	}
	return n
}

// Soak says whether REMORA_ITERATIONS asks for more than CI does: then tests also run
// combinations whose parts CI tests one by one.
func Soak() bool { return factor > 1 }

// Divide makes counts smaller by another factor, for tests that run where everything
// is slow. It is called before tests begin.
func Divide(by int) { divisor *= by }

// Times returns how often a test that tries n times in CI tries here: at least twice,
// if n is.
func Times(n int) int { return max(n/divisor, min(n, 2)) * factor }

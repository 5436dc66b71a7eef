// Package scale sets how many iterations tests run, and seeds their random choices.
//
// A test that repeats something, with other choices or under other timing, has a count
// that is right for CI: large enough to notice the defects that it was written for.
// Times makes that count smaller in race builds, which are slow, and larger by the
// factor in REMORA_ITERATIONS, which make soak sets to look for unknown defects.
package scale

import (
	"fmt"
	"os"
	"strconv"
)

// Variable names the environment variable that multiplies all counts.
const Variable = "REMORA_ITERATIONS"

// raceDivisor is the factor by which counts are smaller in race builds.
const raceDivisor = 4

var factor, divisor = fromEnvironment(), 1

func init() {
	if Race {
		divisor = raceDivisor
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

// Soak reports whether REMORA_ITERATIONS is greater than 1. Tests then also run
// combinations that CI leaves out because it tests their parts one by one.
func Soak() bool { return factor > 1 }

// Divide divides all counts by a further factor, for slow environments. Call it before
// any test starts.
func Divide(by int) { divisor *= by }

// Times returns the number of iterations for a test that runs n iterations in CI. If n
// is at least 2, so is the result.
func Times(n int) int { return max(n/divisor, min(n, 2)) * factor }

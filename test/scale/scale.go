// Package scale sets how many iterations tests run, seeds their random choices, executes test
// binaries again, and saves what they print when they crash.
//
// A test that repeats something, with other choices or under other timing, has a count
// that is right for CI: large enough to notice the defects that it was written for.
// Times makes that count smaller in race builds and in emulated machines, which are
// slow, and multiplies it by REMORA_ITERATIONS: make soak sets that to a number to look
// for unknown defects, script/stress to a fraction to repeat tests more often.
//
// A test binary that executes itself again does so with Again where it is tested under an emulator, too. It
// imports this package in any case, if only for its side effect: where
// REMORA_TEST_LOGS names a directory, as it does under test/run, a process that panics or receives
// SIGQUIT writes its goroutines to a file there as well as to standard error.
package scale

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Variable names the environment variable that multiplies all counts: a number such as
// 20, or a fraction such as 1/4.
const Variable = "REMORA_ITERATIONS"

// raceDivisor is the factor by which counts are smaller in race builds, guestDivisor
// that in the guests of rocevm.
// Together with REMORA_ITERATIONS they are maxDivisor at most: with fewer iterations tests
// do not reach what they test, such as full memory.
const (
	raceDivisor  = 16
	guestDivisor = 8
	maxDivisor   = 64
)

// factor and divisor are what Times multiplies and divides by.
var factor, divisor = initial()

func initial() (factor, divisor int) {
	factor, divisor, err := parse(os.Getenv(Variable))
	if err != nil {
		panic(err)
	}
	if Race {
		divisor *= raceDivisor
	}
	if os.Getenv("ROCEVM_GUEST") != "" {
		divisor *= guestDivisor
	}
	return factor, min(divisor, maxDivisor)
}

// parse reads the value of Variable.
func parse(text string) (factor, divisor int, err error) {
	if text == "" {
		return 1, 1, nil
	}
	over, under, isFraction := strings.Cut(text, "/")
	if !isFraction {
		under = "1"
	}
	factor, err1 := strconv.Atoi(over)
	divisor, err2 := strconv.Atoi(under)
	if err1 != nil || err2 != nil || factor < 1 || divisor < 1 {
		return 0, 0, fmt.Errorf("%s=%s: want a number such as 20 or a fraction such as 1/4", Variable, text)
	}
	return factor, divisor, nil
}

// Soak reports whether REMORA_ITERATIONS is greater than 1. Tests then also run
// combinations that CI leaves out because it tests their parts one by one.
func Soak() bool { return factor > 1 }

// Times returns the number of iterations for a test that runs n iterations in CI. If n
// is at least 5, so is the result.
func Times(n int) int { return max(n/divisor, min(n, 5)) * factor }

// Fabrics returns the names of the fabrics that paths, clients and servers are tested
// on. In race builds that is loop alone, where peers share memory that the race detector
// sees; make soak has them all.
func Fabrics() []string {
	if Race && !Soak() {
		return []string{"loop"}
	}
	return []string{"loop", "shm", "tcp"}
}

// Package gotest compiles the test binaries of Go packages and reads what they
// print. It is what the runner of this repository's tests (test/run) and the
// virtual machines that run tests (test/rocevm) have in common. go test -exec would
// not do: a binary is compiled once for many runs, and the runner must own its session
// to stop it, and to examine all its processes when it hangs.
//
// # Terms
//
// A Binary is the compiled test of one package. A Log takes the output of a
// binary that runs with Flags and turns it into a Tally: which tests passed,
// failed, were skipped or never ended, how long each took, and what the failed
// ones printed.
//
// # Invariants
//
//	T1  A binary that dies in the middle of a test leaves that test Unfinished,
//	    and a Tally that is not OK.
//	T2  A Tally is OK only if the binary itself said that it passed. The exit
//	    status is for the caller to check.
package gotest

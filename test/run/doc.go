// Command run runs the tests of this repository, once or again and again under
// pressure, and explains a failure.
//
//	script/test [flags] [packages]      every test once (-race: with the race detector)
//	script/stress [flags] [packages]    20 rounds under each pressure
//
// # Pressures
//
// A test must pass on any machine that is merely slow. Each pressure makes the
// machine slow in another way:
//
//	none      nothing
//	one-cpu   one CPU, by taskset, and GOMAXPROCS=1
//	busy      a busy loop on every CPU
//	stopped   the process group is stopped at random, for 20 of 25 ms on average
//	all       one CPU, busy loops and stops at once, with the race detector
//
// Several packages run at the same time (-jobs), so that one uses the CPU while
// another is stopped; they are neighbours to each other, too.
//
// # Failures
//
// For each test that failed, run prints its last lines and the command that
// repeats it. The whole output is kept in the log directory (-logs), a file for
// each run of a package that failed.
//
// # Hangs
//
// A package that is not over in time (-timeout) is examined before it is killed: run
// lists the processes of its session and sends SIGQUIT to each, the test itself
// last. A Go process then prints all its goroutines. Where its standard error
// goes to the test that hangs, this would be lost; so a process that imports
// test/crash writes them to a file in the directory that REMORA_TEST_LOGS names,
// and run prints these files.
package main

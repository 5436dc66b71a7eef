// Command run runs the tests of this repository, once or repeatedly under pressure,
// reports failures and diagnoses hangs.
//
//	script/test [flags] [packages]      every test once (-race: with the race detector)
//	script/stress [flags] [packages]    20 rounds under each pressure except none
//
// # Pressures
//
// A test must pass on a slow machine. Each pressure except none slows it in a different
// way:
//
//	none      no pressure
//	one-cpu   one CPU, by taskset, and GOMAXPROCS=1
//	busy      a busy loop on every CPU
//	stopped   the process group is stopped at random times, on average for 20 ms of
//	          every 25; a child that leaves the group goes on
//	all       one CPU, busy loops and stops together, with the race detector
//
// Several packages run at the same time (-jobs), so that one uses the CPU while
// another is stopped; they also compete with each other.
//
// # Failures
//
// For each failed test, run prints the last lines of its output, in which it names its
// seed if it has one, and a command that repeats it. The whole output is kept in the
// log directory (-logs), a directory for each run of a package that failed.
//
// # Hangs
//
// When a package exceeds -timeout, run lists the processes of its session and sends
// SIGQUIT to each, to the test itself last. A Go process then prints all its
// goroutines. If a child's standard error is a pipe that the hung test reads, its
// output would be lost; so a process that imports test/scale also writes it to a file
// in $REMORA_TEST_LOGS, and run prints those files.
package main

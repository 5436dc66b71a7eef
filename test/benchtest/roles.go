package benchtest

import (
	"fmt"
	"os"
	"testing"
)

// Roles are the processes that a test binary can be, by name. The environment
// says which it is; without a word from there it runs tests.
type Roles map[string]func() error

// The roles that the tests of benchmarks have.
const (
	Server = "server" // what Env.Server starts
	Client = "client" // measures until it is killed
	Broken = "broken" // a server that dies
)

// roleVar is the variable that names the role.
const roleVar = "REMORA_BENCH_TEST_ROLE"

// Main is for TestMain: it plays the role that the environment names, or runs the
// tests. It does not return.
func Main(m *testing.M, roles Roles) {
	name, ok := os.LookupEnv(roleVar)
	if !ok {
		os.Exit(m.Run())
	}
	play, ok := roles[name]
	if !ok {
		play = func() error { return fmt.Errorf("this binary has no role %q", name) }
	}
	if err := play(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Self returns the command line of this binary in a role.
func Self(role string) []string {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	// A race build would wait a second before it exits.
	return []string{"/usr/bin/env", roleVar + "=" + role, "GORACE=atexit_sleep_ms=0 " + os.Getenv("GORACE"), exe}
}

// Package crash saves the goroutine dumps of test processes. Import it for its side
// effect in a test binary that executes itself again: if REMORA_TEST_LOGS names a
// directory, as it does under test/run, a process that panics or receives SIGQUIT
// writes its dump to a file there as well as to standard error.
package crash

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
)

// Variable names the environment variable that holds the directory.
const Variable = "REMORA_TEST_LOGS"

func init() {
	dir := os.Getenv(Variable)
	if dir == "" {
		return
	}
	name := fmt.Sprintf("crash-%s-%d", filepath.Base(os.Args[0]), os.Getpid())
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		return // the run that made the directory has ended
	}
	_ = debug.SetCrashOutput(f, debug.CrashOptions{}) // on error, the dump still goes to standard error
	_ = f.Close()                                     // SetCrashOutput has a copy
}

// Files returns the names of the crash files in dir. That of a process that did not
// crash is empty.
func Files(dir string) []string {
	names, _ := filepath.Glob(filepath.Join(dir, "crash-*"))
	return names
}

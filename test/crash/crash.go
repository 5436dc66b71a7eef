// Package crash keeps the last words of the processes of a test. A test binary or a
// suite imports it for its effect where tests start that binary again as other
// processes: when the variable REMORA_TEST_LOGS names a directory, as it does
// under test/run, each process that panics or is sent SIGQUIT writes its goroutines
// to a file there, besides its standard error, which only its parent can read.
package crash

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
)

// Variable is the variable with the directory of the files.
const Variable = "REMORA_TEST_LOGS"

func init() {
	dir := os.Getenv(Variable)
	if dir == "" {
		return
	}
	name := fmt.Sprintf("crash-%s-%d", filepath.Base(os.Args[0]), os.Getpid())
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		return // the directory is gone, and who asked for it with it
	}
	_ = debug.SetCrashOutput(f, debug.CrashOptions{}) // it has standard error still
	_ = f.Close()                                     // SetCrashOutput has a copy
}

// Files returns the files in a directory.
func Files(dir string) []string {
	names, _ := filepath.Glob(filepath.Join(dir, "crash-*"))
	return names
}

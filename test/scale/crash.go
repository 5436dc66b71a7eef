package scale

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
)

// LogsVariable names the environment variable that holds the directory for goroutine dumps.
const LogsVariable = "REMORA_TEST_LOGS"

func init() {
	dir := os.Getenv(LogsVariable)
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

// CrashFiles returns the names of the crash files in dir. That of a process that did not
// crash is empty.
func CrashFiles(dir string) []string {
	names, _ := filepath.Glob(filepath.Join(dir, "crash-*"))
	return names
}

package rocevm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

func TestTempDirSweepsAfterTheDead(t *testing.T) {
	parent := t.TempDir()
	t.Setenv("TMPDIR", parent)
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	dead, alive := gone.Process.Pid, os.Getpid()
	long := time.Now().Add(-2 * staleAge)
	for name, old := range map[string]bool{
		fmt.Sprintf("rocevm-%d-stale", dead):  true,
		fmt.Sprintf("rocevm-%d-young", dead):  false,
		fmt.Sprintf("rocevm-%d-alive", alive): true,
		"rocevm-else":                         true,
		"other":                               true,
	} {
		dir := filepath.Join(parent, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if old {
			if err := os.Chtimes(dir, long, long); err != nil {
				t.Fatal(err)
			}
		}
	}
	dir, err := TempDir()
	if err != nil || filepath.Dir(dir) != parent {
		t.Fatalf("got %s, %v", dir, err)
	}
	entries, err := os.ReadDir(parent)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 5 {
		t.Errorf("left %v, want all but the stale one, and the new one", entries)
	}
	if _, err := os.Stat(filepath.Join(parent, fmt.Sprintf("rocevm-%d-stale", dead))); err == nil {
		t.Error("the stale directory is still there")
	}
}

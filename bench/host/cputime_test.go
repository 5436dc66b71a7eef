package host

import (
	"os"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	line := "42 (a) b) S 1 42 42 0 -1 4194560 100 0 0 0 12 30 0 0 20 0 5 0 1 2 3"
	if d, err := parseStat(line); err != nil || d != 420*time.Millisecond {
		t.Errorf("parseStat = %v, %v, want 420ms", d, err)
	}
	for _, bad := range []string{"", "42 (a", "42 (a) S 1", "42 (a) S 1 42 42 0 -1 4194560 100 0 0 0 x 30 0"} {
		if d, err := parseStat(bad); err == nil {
			t.Errorf("parseStat(%q) = %v, want an error", bad, d)
		}
	}
}

func TestCPUTimeOfThisProcess(t *testing.T) {
	if _, err := TimeOf(os.Getpid()); err != nil {
		t.Error(err)
	}
}

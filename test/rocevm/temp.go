package rocevm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"
)

// staleAge is how old a directory of a dead process must be to be swept: another
// container with its own process numbers may share the place.
const staleAge = time.Hour

var tempName = regexp.MustCompile(`^rocevm-(\d+)-`)

// TempDir makes a directory for the files of this process, to be removed by the
// caller. It also removes what processes left behind that were killed.
func TempDir() (string, error) {
	sweep(os.TempDir())
	dir, err := os.MkdirTemp("", fmt.Sprintf("rocevm-%d-", os.Getpid()))
	if err != nil {
		return "", fmt.Errorf("rocevm: %w", err)
	}
	return dir, nil
}

func sweep(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return // what cannot be listed cannot be swept
	}
	for _, entry := range entries {
		m := tempName.FindStringSubmatch(entry.Name())
		if m == nil {
			continue
		}
		pid, err := strconv.Atoi(m[1])
		if err != nil || !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			continue
		}
		if info, err := entry.Info(); err == nil && time.Since(info.ModTime()) > staleAge {
			_ = os.RemoveAll(filepath.Join(parent, entry.Name())) // another run's at worst
		}
	}
}

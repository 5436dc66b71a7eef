package rocevm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// cache is a directory of things that are expensive to make: kernels, base
// images, the answer to whether KVM works. An entry appears whole, by rename,
// or not at all.
type cache struct {
	dir string
	log func(format string, args ...any)
}

// openCache makes the directory; an empty dir means remora/rocevm below the
// user's cache directory.
func openCache(dir string, log func(string, ...any)) (*cache, error) {
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("rocevm: %w; set XDG_CACHE_HOME, or choose a directory with -cache", err)
		}
		dir = filepath.Join(user, "remora", "rocevm")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("rocevm: make the cache directory: %w; choose another with -cache", err)
	}
	return &cache{dir: dir, log: log}, nil
}

// lock keeps other processes from making the same entries at the same time.
func (c *cache) lock() (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(c.dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("rocevm: lock the cache: %w", err)
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("rocevm: lock the cache: %w", err)
	}
	return func() { f.Close() }, nil
}

// entry returns the path of an entry, made by build if it is missing. Build
// fills the directory that it gets. Other entries of the same kind whose name
// keep does not like are removed after a successful build.
func (c *cache) entry(kind, key string, build func(dir string) error) (string, error) {
	final := filepath.Join(c.dir, kind, key)
	if _, err := os.Stat(final); err == nil {
		return final, nil
	}
	if err := os.MkdirAll(filepath.Dir(final), 0o755); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(c.dir, "making-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	if err := os.Chmod(work, 0o755); err != nil {
		return "", err
	}
	if err := build(work); err != nil {
		return "", err
	}
	if err := os.Rename(work, final); err != nil {
		return "", err
	}
	return final, nil
}

// names lists the entries of a kind.
func (c *cache) names(kind string) []string {
	entries, err := os.ReadDir(filepath.Join(c.dir, kind))
	if err != nil {
		return nil
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// prune removes the entries of a kind except those named.
func (c *cache) prune(kind string, keep ...string) {
	for _, name := range c.names(kind) {
		kept := false
		for _, k := range keep {
			kept = kept || name == k
		}
		if !kept {
			_ = os.RemoveAll(filepath.Join(c.dir, kind, name)) // tried again next time
		}
	}
}

// output runs a program of the host and returns what it printed. An error
// carries the last lines of its complaints, and what to install when the
// program is missing.
func output(ctx context.Context, dir, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	switch {
	case err == nil:
		return stdout.String(), nil
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("rocevm: no %s in PATH; run script/deps rdma", program)
	}
	return stdout.String(), fmt.Errorf("rocevm: %s %s: %w\n%s", program, strings.Join(args, " "), err, tail(stderr.String(), 20))
}

// tail returns the last n lines of a text.
func tail(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

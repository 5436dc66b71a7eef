package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

//go:embed list.txt
var listText string

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	times := flag.Int("n", 1, "try each defect until it is noticed, at most this often")
	flag.Parse()
	if err := run(ctx, *times, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// run tries the mutants with the names given in a copy of the working directory, which
// is the root of the repository.
func run(ctx context.Context, times int, names []string) error {
	list, err := parse(listText)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "remora-mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := copyTree(ctx, dir); err != nil {
		return err
	}
	tried, unnoticed := 0, []string(nil)
	for _, m := range list {
		if len(names) > 0 && !slices.ContainsFunc(names, func(n string) bool { return strings.Contains(m.name, n) }) {
			continue
		}
		tried++
		start := time.Now()
		by, err := m.try(ctx, dir, times)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		fmt.Printf("%-36s %5.0f s  %s\n", m.name, time.Since(start).Seconds(), by)
		if by == "" {
			unnoticed = append(unnoticed, m.name)
		}
	}
	fmt.Printf("%d passed, %d failed\n", tried-len(unnoticed), len(unnoticed))
	if len(unnoticed) > 0 {
		return fmt.Errorf("no test notices %s", strings.Join(unnoticed, ", "))
	}
	return nil
}

// copyTree copies the files that git knows, as they are now.
func copyTree(ctx context.Context, to string) error {
	out, err := exec.CommandContext(ctx, "git", "ls-files", "-z").Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// try applies a mutant, runs its tests and takes it back. It returns the test that
// noticed it, or "".
func (m *mutant) try(ctx context.Context, dir string, times int) (string, error) {
	for _, c := range m.changes {
		path := filepath.Join(dir, c.file)
		good, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		bad, err := c.apply(string(good))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(path, []byte(bad), 0o644); err != nil {
			return "", err
		}
		defer func() { _ = os.WriteFile(path, good, 0o644) }() // the next one would fail
	}
	for range times {
		by, err := m.noticed(ctx, dir)
		if by != "" || err != nil {
			return by, err
		}
	}
	return "", nil
}

// noticed runs the tests once and returns the name of the first that failed.
func (m *mutant) noticed(ctx context.Context, dir string) (string, error) {
	// Paths are trimmed, so that what does not change comes out of the build cache.
	args := append([]string{"test", "-trimpath", "-count=1", "-failfast", "-timeout=5m"}, m.tests...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	text := string(out)
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err == nil:
		return "", nil
	case !errors.As(err, &exit):
		return "", err
	case strings.Contains(text, "[build failed]"), strings.Contains(text, "[setup failed]"):
		return "", fmt.Errorf("it does not compile:\n%s", text)
	}
	if _, after, found := strings.Cut(text, "--- FAIL: "); found {
		name, _, _ := strings.Cut(after, " ")
		return name, nil
	}
	if strings.Contains(text, "panic: test timed out") {
		return "a test that does not end", nil
	}
	return "a crash", nil
}

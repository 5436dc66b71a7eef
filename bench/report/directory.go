package report

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/remora-kv/remora/bench"
)

// IndexName is the page.
const IndexName = "index.html"

// generator is how a page of ours is known: it says so in its first lines.
const generator = `<meta name="generator" content="remora bench">`

// Prepare makes the directory and proves that a report can be written there, so that
// minutes of measuring are not lost for a mistake in its name (W4). An error that the
// user mends by another name wraps bench.ErrUsage.
func Prepare(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return bench.UsageError(fmt.Errorf("the directory for the report: %w", err))
	}
	if err := refuse(dir); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".remora-*")
	if err != nil {
		return bench.UsageError(fmt.Errorf("the directory for the report: %w", err))
	}
	_ = f.Close()
	return os.Remove(f.Name())
}

// refuse says what is in the way: anything but a report of ours.
func refuse(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		return err
	}
	f, err := os.Open(filepath.Join(dir, IndexName))
	if err == nil {
		defer func() { _ = f.Close() }()
		head := make([]byte, 1024)
		n, _ := io.ReadFull(f, head) // a short file is not ours either
		if strings.Contains(string(head[:n]), generator) {
			return nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return bench.UsageError(fmt.Errorf("%s is neither empty nor a report of remora bench: choose another directory, or empty it", dir))
}

// clean removes the figures of an older report, which may have had others.
func clean(dir string) error {
	for _, pattern := range []string{"fig-*.svg", "fig-*.png"} {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := os.Remove(name); err != nil {
				return err
			}
		}
	}
	return nil
}

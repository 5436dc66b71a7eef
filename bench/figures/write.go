package figures

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/remora-kv/remora/bench/out"
)

// IndexName is the file that leads to the others.
const IndexName = "index.md"

// CSVName and SVGName are the files of a figure.
func (f *Figure) CSVName() string { return fmt.Sprintf("figure-%d.csv", f.Number) }

// SVGName is the picture.
func (f *Figure) SVGName() string { return fmt.Sprintf("figure-%d.svg", f.Number) }

// Prepare makes the directory and proves that files can be written there, so that
// minutes of measuring are not lost for a mistake in its name.
func Prepare(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("the directory for the figures: %w", err)
	}
	f, err := os.CreateTemp(dir, ".remora-*")
	if err != nil {
		return fmt.Errorf("the directory for the figures: %w", err)
	}
	name := f.Name()
	if err := f.Close(); err != nil {
		return err
	}
	return os.Remove(name)
}

// Write writes a table and a picture of every figure into dir, and an index.
func (r *Report) Write(dir string) error {
	for i := range r.Figures {
		m := &r.Figures[i]
		if err := out.WriteFile(filepath.Join(dir, m.CSVName()), m.WriteCSV); err != nil {
			return err
		}
		if err := out.WriteFile(filepath.Join(dir, m.SVGName()), m.WriteSVG); err != nil {
			return err
		}
	}
	return out.WriteFile(filepath.Join(dir, IndexName), r.WriteIndex)
}

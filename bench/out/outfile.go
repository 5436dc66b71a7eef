package out

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// WriteFile puts what write writes into a file of this name, in place of one that is there.
// After an error that one stays as it was.
func WriteFile(name string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".remora-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // gone when all went well
	if err := errors.Join(write(f), f.Chmod(0o644), f.Close()); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return os.Rename(f.Name(), name)
}

package out

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "x")
	text := func(s string) func(io.Writer) error {
		return func(w io.Writer) error {
			_, err := io.WriteString(w, s)
			return err
		}
	}
	for _, s := range []string{"one", "two"} {
		if err := WriteFile(name, text(s)); err != nil {
			t.Fatal(err)
		}
	}
	broken := errors.New("broken")
	err := WriteFile(name, func(w io.Writer) error { return errors.Join(text("half")(w), broken) })
	if !errors.Is(err, broken) {
		t.Errorf("a write that failed: %v", err)
	}
	if b, err := os.ReadFile(name); err != nil || string(b) != "two" {
		t.Errorf("it has %q, %v", b, err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode() != 0o644 {
		t.Errorf("%v, %v", info, err)
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 1 {
		t.Errorf("left behind: %v, %v", all, err)
	}
}

package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWriteBetween(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.md")
	for _, text := range []string{"old\n", "new\n"} {
		if err := writeBetween(name, text); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if want := resultsBegin + "\n\nnew\n\n" + resultsEnd + "\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v", got, err)
	}
	prose := "# Title\n\n" + resultsBegin + "\nx\n" + resultsEnd + "\n\n## Why\n"
	if err := os.WriteFile(name, []byte(prose), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeBetween(name, "new\n"); err != nil {
		t.Fatal(err)
	}
	got, err = os.ReadFile(name)
	if want := "# Title\n\n" + resultsBegin + "\n\nnew\n\n" + resultsEnd + "\n\n## Why\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v", got, err)
	}
	if err := os.WriteFile(name, []byte("# Other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeBetween(name, "new\n"); err == nil {
		t.Error("a file without a place for results was written")
	}
}

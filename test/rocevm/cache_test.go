package rocevm

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func testCache(t *testing.T) *cache {
	t.Helper()
	c, err := openCache(filepath.Join(t.TempDir(), "cache"), t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCacheEntryAppearsWholeOrNotAtAll(t *testing.T) {
	c := testCache(t)
	broken := errors.New("broken")
	if _, err := c.entry("kind", "key", func(dir string) error {
		if err := os.WriteFile(filepath.Join(dir, "half"), nil, 0o644); err != nil {
			return err
		}
		return broken
	}); !errors.Is(err, broken) {
		t.Fatalf("got %v", err)
	}
	if names := c.names("kind"); len(names) != 0 {
		t.Errorf("a failed build left %v", names)
	}
	builds := 0
	for range 2 {
		dir, err := c.entry("kind", "key", func(dir string) error {
			builds++
			return os.WriteFile(filepath.Join(dir, "whole"), nil, 0o644)
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, "whole")); err != nil {
			t.Error(err)
		}
	}
	if builds != 1 {
		t.Errorf("built %d times", builds)
	}
	left, err := filepath.Glob(filepath.Join(c.dir, "making-*"))
	if err != nil || len(left) != 0 {
		t.Errorf("work directories left: %v, %v", left, err)
	}
}

func TestCachePrune(t *testing.T) {
	c := testCache(t)
	for _, key := range []string{"old", "new"} {
		if _, err := c.entry("kind", key, func(string) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	c.prune("kind", "new")
	if names := c.names("kind"); !slices.Equal(names, []string{"new"}) {
		t.Errorf("left %v", names)
	}
}

func TestTail(t *testing.T) {
	for _, test := range []struct {
		text string
		n    int
		want string
	}{{"a\nb\nc\n", 2, "b\nc"}, {"a", 5, "a"}, {"", 3, ""}} {
		if got := tail(test.text, test.n); got != test.want {
			t.Errorf("tail(%q, %d) = %q", test.text, test.n, got)
		}
	}
}

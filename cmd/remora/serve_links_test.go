package main

import (
	"os"
	"path/filepath"
	"testing"
)

// Links are there by themselves where they cost nothing.
func TestLinksPay(t *testing.T) {
	file := func(text string) string {
		name := filepath.Join(t.TempDir(), "shmem_enabled")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	never, advise := file("always within_size advise [never] deny force\n"), file("always within_size [advise] never deny force\n")
	shm, tcp := []string{"shm:/run/remora.sock", "tcp://:1"}, []string{"tcp://:1", "shm:/run/remora.sock"}
	for _, c := range []struct {
		listen       []string
		engine, file string
		want         bool
	}{
		{shm, "mica", advise, true},
		{shm, "mica", file("[always] within_size advise never deny force\n"), true},
		{shm, "mica", never, false},
		{shm, "mica", file("always within_size advise never [deny] force\n"), false},
		{shm, "mica", "/nowhere", false},
		{shm, "lru8", advise, false},
		{tcp, "mica", advise, false},
		{nil, "mica", advise, false},
	} {
		if got := linksPay(c.listen, c.engine, c.file); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

package main

import (
	"os"
	"path/filepath"
	"testing"
)

// Direct reads are on by themselves where they cost nothing.
func TestDirectReadsPay(t *testing.T) {
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
		mode         os.FileMode
		want         bool
	}{
		{shm, "mica", advise, 0o600, true},
		{shm, "mica", file("[always] within_size advise never deny force\n"), 0o600, true},
		{shm, "mica", never, 0o600, false},
		{shm, "mica", file("always within_size advise never [deny] force\n"), 0o600, false},
		{shm, "mica", "/nowhere", 0o600, false},
		{shm, "lru8", advise, 0o600, false},
		{shm, "mica", advise, 0o660, false},
		{shm, "mica", advise, 0o604, false},
		{tcp, "mica", advise, 0o600, false},
		{nil, "mica", advise, 0o600, false},
	} {
		if got := directReadsPay(c.listen, c.engine, c.mode, c.file); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDoors(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	for fabric, want := range map[string]string{"loop": "loop:x", "tcp": "tcp://127.0.0.1:0", "shm": "shm:" + tmp, "rdma": "rdma://127.0.0.1:0"} {
		d, err := NewEndpoint(fabric, "", "x")
		if err != nil || !strings.HasPrefix(d.Addr.String(), want) {
			t.Errorf("%s listens at %v, %v", fabric, d.Addr, err)
		}
		if fabric == "shm" {
			if info, err := os.Stat(filepath.Dir(d.Addr.Name)); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("the directory of the socket: %v, %v", info, err)
			}
		}
		for range 2 {
			if err := d.Remove(); err != nil {
				t.Error(err)
			}
		}
	}
	if left, _ := os.ReadDir(tmp); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	if d, err := NewEndpoint("shm", "tcp://node7:9", "x"); err != nil || d.Addr.String() != "tcp://node7:9" {
		t.Errorf("told to listen elsewhere: %v, %v", d.Addr, err)
	}
	if _, err := NewEndpoint("ether", "", "x"); err == nil || !strings.Contains(err.Error(), "--listen ether://") {
		t.Errorf("an unknown fabric gave %v", err)
	}
}

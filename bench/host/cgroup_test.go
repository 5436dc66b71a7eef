package host

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestParseCgroup(t *testing.T) {
	const (
		v1Mounts = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n33 31 0:30 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu\n41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
		both     = "32 31 0:29 /docker/a /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
		v2Mounts = "25 24 0:21 / /sys rw - sysfs sysfs rw\n30 25 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
	)
	for _, tc := range []struct {
		self, mounts string
		want         cgroup
	}{
		{"9:name=systemd:/\n2:cpuacct:/x\n1:cpu:/\n0::/\n", v1Mounts, cgroup{"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu", false}},
		{"0::/y\n1:cpu:/a/b\n", v1Mounts, cgroup{"/sys/fs/cgroup/cpu/a/b", "/sys/fs/cgroup/cpu", false}},
		{"4:cpu,cpuacct:/docker/a/b\n", both, cgroup{"/sys/fs/cgroup/cpu,cpuacct/b", "/sys/fs/cgroup/cpu,cpuacct", false}},
		{"4:cpu,cpuacct:/docker/b\n", both, cgroup{"/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu,cpuacct", false}},
		{"0::/user.slice/s.scope\n", v2Mounts, cgroup{"/sys/fs/cgroup/user.slice/s.scope", "/sys/fs/cgroup", true}},
		{"0::/../../x\n", v2Mounts, cgroup{"/sys/fs/cgroup", "/sys/fs/cgroup", true}},
	} {
		if got, err := parseCgroup(tc.self, tc.mounts); err != nil || got != tc.want {
			t.Errorf("%q: %+v, %v, want %+v", tc.self, got, err, tc.want)
		}
	}
	for self, mounts := range map[string]string{"": v2Mounts, "0::/": "", "1:cpu:/": v2Mounts, "0::/\n": both} {
		if got, err := parseCgroup(self, mounts); !errors.Is(err, errNoCgroup) {
			t.Errorf("%q: %+v, %v", self, got, err)
		}
	}
}

// In version 2 quotas are made in the nearest cgroup that allows it, or in the topmost.
func TestParentOfQuotas(t *testing.T) {
	top := t.TempDir()
	own := filepath.Join(top, "a", "b")
	if err := os.MkdirAll(own, 0o700); err != nil {
		t.Fatal(err)
	}
	allow := func(dir, what string) {
		if err := os.WriteFile(filepath.Join(dir, groupSubtree), []byte(what), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g := cgroup{own, top, true}
	for _, dir := range []string{own, filepath.Dir(own), top} {
		allow(dir, "cpuset memory\n")
	}
	if dir, closed := g.parent(); dir != top || closed != filepath.Join(top, groupSubtree) {
		t.Errorf("where none allows it: %s, %q", dir, closed)
	}
	for _, want := range []string{top, filepath.Dir(own)} {
		allow(want, "memory cpu\n")
		if dir, closed := g.parent(); dir != want || closed != "" {
			t.Errorf("%s, %q, want %s", dir, closed, want)
		}
	}
	g.v2 = false
	if dir, closed := g.parent(); dir != own || closed != "" {
		t.Errorf("in version 1: %s, %q", dir, closed)
	}
}

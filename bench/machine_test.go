package bench

import (
	"strings"
	"testing"
)

func sampleFiles(name string) string {
	return map[string]string{
		"/proc/cpuinfo":              "processor : 0\nmodel name\t: Fast CPU @ 3.00GHz\nflags : fpu hypervisor sse\n",
		"/proc/meminfo":              "MemTotal:       16384000 kB\n",
		"/etc/os-release":            "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n",
		"/proc/sys/kernel/osrelease": "6.1.0-18-amd64\n",
	}[name]
}

func TestMachine(t *testing.T) {
	var all []string
	for _, f := range machine(sampleFiles, 2) {
		all = append(all, f.Name+": "+f.Value)
	}
	got := strings.Join(all, "\n")
	for _, want := range []string{"Fast CPU @ 3.00GHz, 2 CPUs", "virtual machine", "16 GiB", "Debian GNU/Linux 12", "6.1.0-18-amd64"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if nothing := machine(func(string) string { return "" }, 1); len(nothing) == 0 {
		t.Error("of a machine without files nothing is known")
	}
}

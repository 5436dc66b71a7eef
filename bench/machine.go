package bench

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
)

// Fact is something to know about where it was measured.
type Fact struct{ Name, Value string }

// Machine returns what can be known of this one. Its name is not among that: reports
// are given away.
func Machine() []Fact {
	read := func(name string) string {
		b, err := os.ReadFile(name)
		if err != nil {
			return ""
		}
		return string(b)
	}
	return machine(read, runtime.NumCPU())
}

func machine(read func(string) string, cpus int) []Fact {
	var facts []Fact
	add := func(name, value string) {
		if value = strings.TrimSpace(value); value != "" {
			facts = append(facts, Fact{name, value})
		}
	}
	info := read("/proc/cpuinfo")
	processor := entry(info, "model name")
	if processor == "" {
		processor = runtime.GOARCH
	}
	add("processor", fmt.Sprintf("%s, %d CPUs for this process", processor, cpus))
	add("governor", read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"))
	if strings.Contains(" "+entry(info, "flags")+" ", " hypervisor ") {
		add("virtual", "virtual machine: a hypervisor may take CPUs away")
	}
	if kib, err := strconv.ParseFloat(strings.TrimSuffix(entry(read("/proc/meminfo"), "MemTotal"), " kB"), 64); err == nil {
		add("memory", humanize.IBytes(uint64(kib)*1024))
	}
	add("system", strings.Trim(entry(strings.ReplaceAll(read("/etc/os-release"), "=", ":"), "PRETTY_NAME"), `"`))
	add("kernel", runtime.GOOS+" "+read("/proc/sys/kernel/osrelease"))
	add("Go", runtime.Version()+" "+runtime.GOARCH)
	return facts
}

// machineText is Machine in a line.
func machineText() string {
	words := []string{programText()}
	for _, f := range Machine() {
		words = append(words, f.Value)
	}
	return strings.Join(words, "; ")
}

// programText is this program with its version.
func programText() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return "remora " + info.Main.Version
	}
	return "remora of an unknown version"
}

// entry finds the first line "name : value".
func entry(lines, name string) string {
	for line := range strings.Lines(lines) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

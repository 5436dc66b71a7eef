package host

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Use is what all processes together have used of some CPUs, and what a hypervisor
// has kept from them (Stolen).
type Use struct{ Busy, Stolen time.Duration }

// UseOf returns what was used of CPUs, in steps of 10 ms.
func UseOf(cpus []int) (Use, error) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return Use{}, fmt.Errorf("CPU time of CPUs %v: %w", cpus, err)
	}
	return parseUse(string(b), cpus)
}

// parseUse adds lines of /proc/stat: cpu and its number, then the times of user,
// nice, system, idle, iowait, irq, softirq, steal.
func parseUse(stat string, cpus []int) (sum Use, err error) {
	found := 0
	for line := range strings.Lines(stat) {
		fields := strings.Fields(line)
		if len(fields) < 9 {
			continue
		}
		name, ok := strings.CutPrefix(fields[0], "cpu")
		cpu, err := strconv.Atoi(name)
		if !ok || err != nil || !slices.Contains(cpus, cpu) {
			continue
		}
		var errs [4]error
		for i, at := range []int{1, 2, 3, 8} {
			var n int64
			n, errs[i] = strconv.ParseInt(fields[at], 10, 64)
			if at == 8 {
				sum.Stolen += time.Duration(n) * clockTick
			} else {
				sum.Busy += time.Duration(n) * clockTick
			}
		}
		if err := errors.Join(errs[:]...); err != nil {
			return Use{}, fmt.Errorf("CPU time of CPU %d: %w", cpu, err)
		}
		found++
	}
	if found != len(cpus) {
		return Use{}, fmt.Errorf("CPU time: %d of the CPUs %v are in /proc/stat", found, cpus)
	}
	return sum, nil
}

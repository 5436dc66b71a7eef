package affinity

import (
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// Apart returns n CPUs that this process may use, on distinct physical cores as
// long as there are any, then on the siblings of cores already taken. It is an
// error to ask for more CPUs than there are. A negative n panics.
func Apart(n int) ([]int, error) {
	if n < 0 {
		panic(fmt.Sprintf("affinity: Apart(%d), must be at least 0", n))
	}
	allowed, err := Allowed()
	if err != nil {
		return nil, err
	}
	if n > len(allowed) {
		return nil, fmt.Errorf("affinity: %d CPUs wanted and this process may use %d: %v", n, len(allowed), allowed)
	}
	return spread(allowed, n, Core), nil
}

// spread picks n of cpus, first one of each core in the order of cpus, then the
// rest in the same way.
func spread(cpus []int, n int, core func(cpu int) int) []int {
	picked := make([]int, 0, n)
	for len(picked) < n {
		taken := make(map[int]bool)
		var left []int
		for _, cpu := range cpus {
			if c := core(cpu); len(picked) == n || taken[c] {
				left = append(left, cpu)
			} else {
				taken[c] = true
				picked = append(picked, cpu)
			}
		}
		cpus = left
	}
	return picked
}

// Core names the physical core of a CPU by its lowest sibling: CPUs of one core have the same.
// A machine that does not tell has one core per CPU.
func Core(cpu int) int { return coreOf(os.DirFS("/sys/devices/system/cpu"), cpu) }

// coreOf names the physical core of a CPU by its lowest sibling. A machine that
// does not tell has one core per CPU.
func coreOf(cpus fs.FS, cpu int) int {
	list, err := fs.ReadFile(cpus, fmt.Sprintf("cpu%d/topology/thread_siblings_list", cpu))
	if err != nil {
		return cpu
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(list)), ",") // "0,4" or "0-1"
	first, _, _ = strings.Cut(first, "-")
	lowest, err := strconv.Atoi(first)
	if err != nil {
		return cpu
	}
	return lowest
}

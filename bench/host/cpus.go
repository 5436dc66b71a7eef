package host

import (
	"fmt"
	"strings"

	"github.com/remora-kv/remora/internal/affinity"
)

// CPUs returns the CPUs that may be used, on different cores first; none when
// there is no affinity here.
func CPUs() []int {
	allowed, err := affinity.Allowed()
	if err != nil {
		return nil
	}
	cpus, err := affinity.Apart(len(allowed))
	if err != nil {
		return nil
	}
	return cpus
}

// InTurn gives each of n threads a CPU, in turn.
func InTurn(cpus []int, n int) []int {
	out := make([]int, 0, n)
	for i := range n {
		if len(cpus) != 0 {
			out = append(out, cpus[i%len(cpus)])
		}
	}
	return out
}

// CPUList writes CPUs for people.
func CPUList(cpus []int) string {
	s := make([]string, len(cpus))
	for i, c := range cpus {
		s[i] = fmt.Sprint(c)
	}
	return strings.Join(s, "+")
}

// Unpinned is the warning where the system has no affinity.
const Unpinned = "threads are not pinned: CPU affinity is not available here"

// OnlyOne is the warning where client and server share the one CPU that there is.
func OnlyOne(cpu int) string {
	return fmt.Sprintf("ONE CPU ONLY (%d): client and server take turns on it, the numbers say nothing", cpu)
}

// Crowded is the warning where threads, of the kind that what names, share CPUs;
// empty where they do not.
func Crowded(what string, threads, cpus int) string {
	if threads <= cpus {
		return ""
	}
	s := "s"
	if cpus == 1 {
		s = ""
	}
	return fmt.Sprintf("%d %ss share %d CPU%s: their latencies include waiting for each other", threads, what, cpus, s)
}

package call

import (
	"fmt"

	"github.com/remora-kv/remora/internal/affinity"
)

// placement says which CPUs the drivers and the cores of a case are pinned to,
// drivers in turn.
type placement struct {
	client, server []int
	warning        string
}

const unpinned = "threads are not pinned: CPU affinity is not available here"

// place shares cpus, which are on different cores as far as possible. The server
// has the last ones.
func place(c *Case, cpus []int) placement {
	switch {
	case len(cpus) == 0:
		return placement{warning: unpinned}
	case len(cpus) == 1:
		return placement{
			client: cpus, server: coresOn(cpus, c.Cores),
			warning: fmt.Sprintf("ONE CPU ONLY (%d): client and server take turns on it, the numbers say nothing", cpus[0]),
		}
	}
	split := len(cpus) - min(c.Cores, max(len(cpus)-max(c.Threads, 1), 1))
	p := placement{client: cpus[:split], server: coresOn(cpus[split:], c.Cores), warning: crowded("client thread", c.Threads, split)}
	if p.warning == "" {
		p.warning = crowded("server core", c.Cores, len(cpus)-split)
	}
	return p
}

// placeApart is place for a server on another host, which finds its own CPUs.
func placeApart(c *Case, cpus []int) placement {
	if len(cpus) == 0 {
		return placement{warning: unpinned}
	}
	return placement{client: cpus, warning: crowded("client thread", c.Threads, len(cpus))}
}

// coresOn gives each of n cores a CPU, in turn.
func coresOn(cpus []int, n int) []int {
	out := make([]int, 0, n)
	for i := range n {
		if len(cpus) != 0 {
			out = append(out, cpus[i%len(cpus)])
		}
	}
	return out
}

func crowded(what string, threads, cpus int) string {
	if threads <= cpus {
		return ""
	}
	s := "s"
	if cpus == 1 {
		s = ""
	}
	return fmt.Sprintf("%d %ss share %d CPU%s: their latencies include waiting for each other", threads, what, cpus, s)
}

// machineCPUs returns the CPUs that may be used, on different cores first; none
// when there is no affinity here.
func machineCPUs() []int {
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

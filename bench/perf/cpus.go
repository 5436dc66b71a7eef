package perf

import (
	"fmt"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/affinity"
)

// placement says which CPUs the threads of a case are pinned to, in turn.
type placement struct {
	client, server []int
	serverThreads  int
	warning        string
}

// place shares cpus, which are on different cores as far as possible, between
// the client and the server of a case. A server that does nothing (its memory
// is the target) needs no CPU of its own when the client has more threads than
// would be left.
func place(c *Case, cpus []int) placement {
	busy := c.Threads // threads of the client that work
	if c.Kind == kindOutbound && c.Op != fabric.OpSend {
		busy = 0
	}
	if len(cpus) == 0 {
		return placement{serverThreads: 1, warning: unpinned}
	}
	if len(cpus) == 1 {
		return placement{
			client: cpus, server: cpus, serverThreads: 1,
			warning: fmt.Sprintf("ONE CPU ONLY (%d): client and server take turns on it, the numbers say nothing", cpus[0]),
		}
	}
	passive := c.Kind == kindInbound && c.Op != fabric.OpSend
	if passive && busy > len(cpus)-1 {
		return placement{client: cpus, server: cpus, serverThreads: serverThreads(c, len(cpus)), warning: crowded(busy, len(cpus))}
	}
	forServer := min(max(len(cpus)/2, len(cpus)-busy), c.lanes(), len(cpus)-1)
	if c.Kind == kindLimit || c.Kind == kindOutbound {
		forServer = 1
	}
	split := len(cpus) - forServer
	return placement{
		client: cpus[:split], server: cpus[split:],
		serverThreads: serverThreads(c, forServer), warning: crowded(busy, split),
	}
}

// placeApart is place for a server on another host: the client has all CPUs of
// this one, and the server finds its own (placement without threads for it).
func placeApart(c *Case, cpus []int) placement {
	if len(cpus) == 0 {
		return placement{warning: unpinned}
	}
	return placement{client: cpus, warning: crowded(c.Threads, len(cpus))}
}

// placeSelf is what a server does whose client does not know this host.
func placeSelf(c *Case) (cpus []int, threads int) {
	cpus = machineCPUs()
	return cpus, serverThreads(c, len(cpus))
}

// unpinned is the warning where the system has no affinity.
const unpinned = "threads are not pinned: CPU affinity is not available here"

// serverThreads is how many ends the server has.
func serverThreads(c *Case, cpus int) int {
	switch {
	case c.QPs > 1:
		return c.QPs // all-to-all: as many as the client has threads
	case c.Kind == kindOutbound:
		return 1
	}
	return max(min(cpus, c.lanes()), 1)
}

func crowded(threads, cpus int) string {
	if threads <= cpus {
		return ""
	}
	s := "s"
	if cpus == 1 {
		s = ""
	}
	return fmt.Sprintf("%d client threads share %d CPU%s: their latencies include waiting for each other", threads, cpus, s)
}

// machineCPUs returns the CPUs that may be used, on different cores first;
// none when there is no affinity here.
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

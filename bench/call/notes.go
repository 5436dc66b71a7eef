package call

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/fabric/provider"
)

// notes states the conditions of the measurement.
func (r *runner) notes(c *Case) {
	note := r.report.Note
	note("CPUs: %s", r.pinning(c))
	switch {
	case r.cfg.Fabric == provider.Loop:
		note("loop: client and server are threads of one process")
	case r.cfg.Remote:
		note("server: started by --server-command; garbage collection is off in both while measuring")
	default:
		note("server: a process of its own; garbage collection is off in both while measuring")
	}
	note("clock: time-stamp counter at %.0f MHz, %.1f ns to read, which a timed call includes once",
		r.scale.PerSecond()/1e6, r.scale.Overhead())
	of := "every call"
	if slices.ContainsFunc(r.report.Rows, func(w Row) bool { return w.TimedEvery > 1 }) {
		of = "one call in 16, at random, where one takes less than a microsecond, else of all"
	}
	note("latency: from Send to the result, of %s", of)
	if c.FetchSize != r.cfg.FetchSize {
		note("F: the first READ is of the size that brings the whole answer (--fetch-size)")
	}
	if r.cfg.Limit != 0 {
		note("batch: chosen by the connections, to keep %v (--limit); the table shows the last one", r.cfg.Limit)
	}
	note("waiting: %s; %s %s/%s", r.cfg.Poll, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// pinning says which CPUs client and server were on.
func (r *runner) pinning(c *Case) string {
	p := r.place(c)
	if len(p.Client) == 0 {
		return "threads were not pinned"
	}
	server := "server " + host.CPUList(p.Server)
	if r.cfg.Remote {
		server = "server on CPUs of its own"
	}
	if c.Goroutines != 0 {
		return "client goroutines not pinned, " + server
	}
	return fmt.Sprintf("client %s, %s", host.CPUList(p.Client[:min(len(p.Client), c.Threads)]), server)
}

package perf

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/bench/out"
	"github.com/remora-kv/remora/fabric/provider"
)

// notes states the conditions of the measurement.
func (r *runner) notes(cases []Case) {
	note := r.report.Note
	note("CPUs: %s", r.pinning(cases))
	switch {
	case r.cfg.Fabric == provider.Loop:
		note("loop: client and server are two threads of one process")
	case r.cfg.Remote:
		note("server: started by --server-command; garbage collection is off in both while measuring")
	default:
		note("server: a process of its own; garbage collection is off in both while measuring")
	}
	note("clock: time-stamp counter at %.0f MHz, %.1f ns to read, which a timed operation includes once",
		r.scale.PerSecond()/1e6, r.scale.Overhead())
	if few := slices.ContainsFunc(r.report.Rows, func(w Row) bool { return w.TimedEvery > 1 }); few {
		note("latency: of one operation in 16 where one takes less than a microsecond, else of all; with a window, of one in flight at a time")
	} else {
		note("latency: of every operation; with a window, of one in flight at a time")
	}
	if i := slices.IndexFunc(r.report.Rows, func(w Row) bool { return w.Accesses > 0 }); i >= 0 {
		note("accesses: cache lines that the server loads for each request, anywhere in a table of %s", out.Bytes(r.report.Rows[i].TableBytes))
	}
	note("waiting: %s; %s %s/%s", r.cfg.Poll, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if slices.ContainsFunc(r.report.Rows, func(w Row) bool { return w.LimitRatio != nil }) {
		note("of limit: operations per second as a share of what the bare machine does at the same size and window")
	}
}

// pinning says which CPUs client and server were on.
func (r *runner) pinning(cases []Case) string {
	if len(r.cpus) == 0 {
		return "threads were not pinned"
	}
	var seen []string
	for i := range cases {
		p := r.place(&cases[i])
		s := fmt.Sprintf("client %s, server %s", host.CPUList(p.Client), host.CPUList(p.Server))
		if r.cfg.Remote {
			s = fmt.Sprintf("client %s, server on CPUs of its own", host.CPUList(p.Client))
		}
		if !slices.Contains(seen, s) {
			seen = append(seen, s)
		}
	}
	if len(seen) > 1 {
		return "threads are pinned; " + strings.Join(seen, " or ")
	}
	return strings.Join(seen, "")
}

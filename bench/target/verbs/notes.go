package verbs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/bench/out"
	"github.com/remora-kv/remora/fabric/provider"
)

// notes states the conditions of the measurement.
func (r *runner) notes(cases []Case) {
	note := r.Report.Note
	for _, placement := range r.cfg.Placements {
		note("%s: %s", bench.PlacementLabel(placement), r.pinning(cases, placement))
	}
	r.NoteServer(r.cfg.Fabric == provider.Loop, r.cfg.Remote)
	r.NoteClock()
	if few := slices.ContainsFunc(r.Report.Rows, func(w Row) bool { return w.TimedEvery > 1 }); few {
		note("latency: of one operation in 16 where one takes less than a microsecond, else of all; with a window, of one in flight at a time")
	} else {
		note("latency: of every operation; with a window, of one in flight at a time")
	}
	if i := slices.IndexFunc(r.Report.Rows, func(w Row) bool { return w.Accesses > 0 }); i >= 0 {
		note("accesses: cache lines that the server loads for each request, anywhere in a table of %s", out.Bytes(r.Report.Rows[i].TableBytes))
	}
	r.NoteProgram(r.cfg.Poll.String())
	if slices.ContainsFunc(r.Report.Rows, func(w Row) bool { return w.LimitRatio != nil }) {
		note("of limit: operations per second as a share of what the bare machine does at the same size and window")
	}
}

// pinning says which CPUs client and server were on in a placement.
func (r *runner) pinning(cases []Case, placement string) string {
	if len(r.CPUs) == 0 {
		return "threads were not pinned"
	}
	var seen []string
	for i := range cases {
		if cases[i].Placement != placement {
			continue
		}
		p := r.place(&cases[i])
		if len(p.Client) == 0 {
			return "threads were not pinned, " + p.Company()
		}
		s := fmt.Sprintf("client %s, server %s", host.CPUList(p.Client), host.CPUList(p.Server))
		if r.cfg.Remote {
			s = fmt.Sprintf("client %s, server on CPUs of its own", host.CPUList(p.Client))
		}
		if with := p.Company(); with != "" {
			s += ", " + with
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

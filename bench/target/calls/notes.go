package calls

import (
	"fmt"
	"slices"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/host"
)

// notes states the conditions of the measurement.
func (r *runner) notes(cases []Case) {
	c := &cases[0]
	note := r.Report.Note
	for i := range cases {
		if s := bench.PlacementLabel(cases[i].Placement) + ": " + r.pinning(&cases[i]); !slices.Contains(r.Report.Notes, s) {
			note("%s", s)
		}
	}
	r.NoteServer(c.loop(), r.cfg.Remote)
	r.NoteClock()
	of := "every call"
	if slices.ContainsFunc(r.Report.Rows, func(w Row) bool { return w.TimedEvery > 1 }) {
		of = "one call in 16, at random, where one takes less than a microsecond, else of all"
	}
	note("latency: from Send to the result, of %s", of)
	if c.FetchSize != r.cfg.FetchSize {
		note("F: the first READ is of the size that brings the whole answer (--fetch-size)")
	}
	if r.cfg.Limit != 0 {
		note("batch: chosen by the connections, to keep %v (--limit); the table shows the last one", r.cfg.Limit)
	}
	r.NoteProgram(r.cfg.Poll.String())
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
	if with := p.Company(); with != "" {
		server += ", " + with
	}
	return fmt.Sprintf("client %s, %s", host.CPUList(p.Client[:min(len(p.Client), c.Threads)]), server)
}

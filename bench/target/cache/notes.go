package cache

import (
	"fmt"
	"slices"
	"strings"

	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/bench/out"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
)

// notes states the conditions of the measurement.
func (r *runner) notes(c *Case) {
	note := r.report.Note
	r.placementNotes()
	note("servers: %s", strings.Join(r.servers(), "; "))
	note("load: closed loop of %s keys, each client has window x batch operations in flight; seed %d",
		valueText(c.KeyDist, c.KeySize), r.cfg.Seed)
	if slices.ContainsFunc(r.report.Rows, func(w Row) bool { return w.Rate != 0 }) {
		note("rate: with one the loop is open, and latency counts from when an operation should have begun")
	}
	if slices.ContainsFunc(r.report.Rows, func(w Row) bool { return w.Processes != 0 }) {
		note("processes: their histograms are added; the rate is the sum of theirs, each over its own time, in which all work; with --ops that of all in the longest time")
	}
	if c.Fill {
		note("fill: a get that misses is followed by a put of its key, both are operations")
	}
	r.NoteClock()
	if least, most := r.generators(); most != 0 {
		note("generator: without a server bench does %s to %s operations a second on a thread", out.SI(least), out.SI(most))
	}
	of := "every operation"
	if slices.ContainsFunc(r.report.Rows, func(w Row) bool { return w.TimedEvery > 1 }) {
		of = "one operation in 16, at random, where a thread does one in less than 10 us, else of all"
	}
	note("latency: from the start of an operation to its result, of %s", of)
	if c.FetchSize != 0 && c.FetchSize != r.cfg.FetchSize {
		note("F: the first READ is of the size that brings the whole answer (--fetch-size)")
	}
	waiting := c.Poll.String()
	if c.Poll == fabric.Adaptive {
		waiting += ": sockets are waited for in the kernel (--poll)"
	} else {
		waiting += ": sockets are polled (--poll)"
	}
	r.NoteProgram(waiting)
}

// generators are the least and the most that the generator did alone, of all loads.
func (r *runner) generators() (least, most float64) {
	for _, x := range r.alone {
		if least == 0 || x < least {
			least = x
		}
		most = max(most, x)
	}
	return least, most
}

// servers says which servers were measured.
func (r *runner) servers() (out []string) {
	for i := range r.report.Rows {
		row := &r.report.Rows[i]
		var s string
		switch {
		case row.Path == PathNull:
			s = "null answers at once, on the thread of its client: what is measured is the generator"
		case row.Path == PathText:
			s = fmt.Sprintf("remora %s, asked by lines over %s; its event loop has no CPU of its own", row.ServerVersion, row.Fabric)
		case !isOurs(row.Path):
			s = fmt.Sprintf("%s %s over %s", row.Path, row.ServerVersion, row.Fabric)
		case r.cfg.Server != "":
			s = fmt.Sprintf("remora %s at %s", row.ServerVersion, r.cfg.Server)
		case row.Fabric == provider.Loop:
			s = "remora, threads of the client's process"
		default:
			s = "remora, a process of its own"
		}
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// pinning says which CPUs client and server were on.
func (r *runner) pinning(c *Case) string {
	p := r.place(c)
	where := r.pinned(c, &p)
	if with := p.Company(); with != "" {
		where += ", " + with
	}
	return where
}

func (r *runner) pinned(c *Case, p *host.Placement) string {
	if len(p.Client) == 0 {
		return "threads were not pinned"
	}
	where := "server " + host.CPUList(slices.Compact(slices.Clone(p.Server)))
	if len(p.Server) == 0 {
		where = "no server"
	}
	if r.cfg.Server != "" {
		where = "server where it is, maybe on the same"
	}
	if len(r.cfg.Agents) != 0 {
		return "clients where the agents are (" + strings.Join(r.cfg.Agents, ", ") + "), " + where
	}
	if c.Goroutines != 0 {
		return fmt.Sprintf("client goroutines on %d threads that are not pinned, %s", len(p.Client), where)
	}
	return fmt.Sprintf("client %s, %s", host.CPUList(p.Client[:min(len(p.Client), c.threads())]), where)
}

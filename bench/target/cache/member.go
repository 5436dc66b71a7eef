package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/host"

	"github.com/remora-kv/remora/bench/load"
)

// task is what a client process is told to do (C18):
//
//	join      Version, Case, Server, ... -> nothing: its workers are connected
//	lead      Budget                     -> nothing: they work, and nothing counts
//	measure   Budget                     -> report; after lead they go on working
//	rest                                 -> all operations since lead or measure, and the
//	                                        verbs of this side for them: nobody works
type task struct {
	Do      string
	Version string `json:",omitempty"`
	Case    *Case  `json:",omitempty"`
	Server  string `json:",omitempty"` // where it is, as its kind of target understands it
	Seed    uint64 `json:",omitempty"`
	CPUs    []int  `json:",omitempty"` // none: it finds its own, behind so many (Skip)
	Skip    int    `json:",omitempty"`
	// First is the number of its first worker, and Of how many clients all processes have.
	First, Of int          `json:",omitempty"`
	Budget    *load.Budget `json:",omitempty"`
}

// Name implements child.Command.
func (c task) Name() string { return c.Do }

// The commands.
const (
	doJoin    = "join"
	doLead    = "lead"
	doMeasure = "measure"
	doRest    = "rest"
)

// deed is what a client process answers.
type deed struct {
	Report *load.Report `json:",omitempty"`
	Ops    uint64       `json:",omitempty"`
	Verbs  load.Verbs
	// Warning is what is doubtful about its CPUs.
	Warning string `json:",omitempty"`
}

// Drive is a client process: it obeys the commands on in and answers on out until in ends.
// It is the whole of the hidden command that Env.Client names.
func Drive(ctx context.Context, providers bench.Opener, version string, in io.Reader, out io.Writer) error {
	m := &member{providers: providers, version: version}
	return errors.Join(host.Obey(ctx, in, out, m.obey), m.close())
}

// member is a client process between commands.
type member struct {
	providers bench.Opener
	version   string
	warning   string // of its CPUs
	trial     *trial
	workers   []load.Worker

	ops    uint64      // since lead or measure
	before load.Verbs  // at that time
	behind *background // who works while nothing counts; nil: nobody
}

func (m *member) obey(ctx context.Context, cmd *task) (deed, error) {
	if cmd.Do == doJoin {
		err := m.join(ctx, cmd)
		return deed{Warning: m.warning}, err
	}
	if m.workers == nil || cmd.Budget == nil && cmd.Do != doRest {
		return deed{}, fmt.Errorf("command %q before %q, or without a budget", cmd.Do, doJoin)
	}
	switch cmd.Do {
	case doLead:
		m.begin()
		m.goOn(ctx, *cmd.Budget)
		return deed{}, nil
	case doMeasure:
		return m.measure(ctx, *cmd.Budget)
	case doRest:
		err := m.pause()
		return deed{Ops: m.ops, Verbs: m.trial.server.posted().Minus(m.before)}, err
	}
	return deed{}, fmt.Errorf("command %q is unknown: are both processes of the same version?", cmd.Do)
}

// join connects the workers.
func (m *member) join(ctx context.Context, cmd *task) error {
	if cmd.Version != m.version {
		return fmt.Errorf("this client process is of version %q, its controller of %q: use the same program", m.version, cmd.Version)
	}
	if m.trial != nil || cmd.Case == nil || cmd.Case.Clients < 1 || cmd.Case.Clients > maxClients || cmd.Case.callers() > maxClients*maxGoroutines {
		return fmt.Errorf("%q twice, or without a valid case", doJoin)
	}
	r := newRunner(Config{Server: cmd.Server, Seed: cmd.Seed}, Env{Providers: m.providers, Version: m.version}, nil)
	r.first, r.of = cmd.First, cmd.Of
	place := host.Placement{Client: cmd.CPUs}
	if len(cmd.CPUs) == 0 && cmd.Case.sharing().Pins() {
		place = ownPlace(cmd.Case, max(cmd.Skip, 0))
		m.warning = place.Warning
	}
	runtime.GOMAXPROCS(procs(cmd.Case, place))
	m.trial = &trial{runner: r, c: cmd.Case, place: place}
	m.trial.server = r.serverOf(m.trial.c, place)
	if err := m.trial.server.open(ctx); err != nil {
		return err
	}
	workers, err := m.trial.server.workers(ctx)
	m.workers = workers
	runtime.GC()
	return err
}

// begin notes from when on operations and verbs are counted.
func (m *member) begin() {
	if m.behind == nil {
		m.ops, m.before = 0, m.trial.server.posted()
	}
}

// measure counts one run. Who works already goes on afterwards.
func (m *member) measure(ctx context.Context, b load.Budget) (deed, error) {
	m.begin()
	leads := m.behind != nil
	if err := m.pause(); err != nil {
		return deed{}, err
	}
	d, err := m.count(ctx, b)
	if err == nil && leads {
		m.goOn(ctx, b)
	}
	return d, err
}

// count lets the workers work, and reports.
func (m *member) count(ctx context.Context, b load.Budget) (d deed, err error) {
	before, err := host.ProcessTime()
	if err != nil {
		return d, err
	}
	sum, err := m.trial.run(ctx, m.workers, b)
	if err != nil {
		return d, err
	}
	after, err := host.ProcessTime()
	d.Report = sum.Report(m.trial.Scale)
	if !host.PerThread || m.trial.c.Goroutines != 0 {
		d.Report.CPU = after - before
	}
	m.ops += sum.Ops
	return d, err
}

// background is a run of which nothing is reported.
type background struct {
	until atomic.Bool
	ended chan struct{}
	sum   load.Tally
	err   error
}

// longRun is longer than anybody waits for another process.
const longRun = 24 * time.Hour

// goOn lets the workers work until pause.
func (m *member) goOn(ctx context.Context, b load.Budget) {
	g := &background{ended: make(chan struct{})}
	m.behind = g
	b.Ops, b.Time, b.Until = 0, longRun, &g.until
	go func() {
		defer close(g.ended)
		g.sum, g.err = m.trial.run(ctx, m.workers, b)
	}()
}

// pause ends what goOn began, if anything.
func (m *member) pause() error {
	g := m.behind
	if g == nil {
		return nil
	}
	m.behind = nil
	g.until.Store(true)
	<-g.ended
	m.ops += g.sum.Ops
	return g.err
}

func (m *member) close() error {
	_ = m.pause() // whoever cared has been told
	if m.trial == nil {
		return nil
	}
	return m.trial.server.close()
}

package cache

import (
	"context"
	"fmt"
	"io"
	"runtime"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/bench/load"
)

// part is what one client process does of a trial (C18). Its orders, beside those that every
// process takes, are:
//
//	lead      Budget  -> nothing: its workers work, and nothing counts
//	measure   Budget  -> report; after lead they go on working
//	rest              -> all operations since lead or measure, and the verbs of this side for
//	                     them: nobody works
//
// Setup connects its workers.
type part struct {
	Case   Case
	Server string // where it is, as its kind of target understands it
	Seed   uint64
	// Skip is behind how many CPUs of its machine its own are, where it is given none.
	Skip int `json:",omitempty"`
	// First is the number of its first worker, and Of how many clients all processes have.
	First, Of int
}

// The orders.
const (
	doLead    = "lead"
	doMeasure = "measure"
	doRest    = "rest"
)

// Drive is a client process: it obeys the orders on in and answers on out until in ends.
// It is the whole of the hidden command that Env.Client names.
func Drive(ctx context.Context, providers bench.Opener, version string, in io.Reader, out io.Writer) error {
	return bench.Serve(ctx, in, out, &clientProcess{providers: providers, version: version})
}

// clientProcess is a client process between orders.
type clientProcess struct {
	providers bench.Opener
	version   string
	trial     *trial // nil: not set up

	ops    uint64        // since lead or measure
	before load.Verbs    // at that time
	behind *load.Running // of those who work while nothing counts; nil: nobody does
}

// Setup implements bench.Server: it connects the workers.
func (m *clientProcess) Setup(ctx context.Context, o *bench.Order[part]) (a bench.Answer, err error) {
	c := &o.Case.Case
	if o.Version != m.version {
		return a, fmt.Errorf("this client process is of version %q, its controller of %q: use the same program", m.version, o.Version)
	}
	if m.trial != nil || c.Clients < 1 || c.Clients > maxClients || c.callers() > maxClients*maxGoroutines {
		return a, fmt.Errorf("%q twice, or without a valid case", o.Do)
	}
	r := newRunner(Config{Server: o.Case.Server, Seed: o.Case.Seed}, Env{Providers: m.providers, Version: m.version}, nil)
	r.first, r.of = o.Case.First, o.Case.Of
	place := host.Placement{Client: o.CPUs}
	if len(o.CPUs) == 0 && c.sharing().Pins() {
		place = ownPlace(c, max(o.Case.Skip, 0))
		a.Warning = place.Warning
	}
	runtime.GOMAXPROCS(procs(c, place))
	m.trial = &trial{runner: r, c: c, place: place, server: r.serverOf(c, place)}
	if err := m.trial.server.open(ctx); err != nil {
		return a, err
	}
	m.trial.workers, err = m.trial.server.workers(ctx)
	runtime.GC()
	return a, err
}

// ownPlace is where the threads of a client process are that finds its own CPUs.
func ownPlace(c *Case, skip int) host.Placement {
	all := host.CPUs()
	if len(all) == 0 || c.Goroutines != 0 {
		return host.Apart(all, 1)
	}
	place := host.Apart(all, skip%len(all)+c.Clients)
	place.Client = append(append([]int(nil), all[skip%len(all):]...), all[:skip%len(all)]...)
	return place
}

// Obey implements bench.Obeyer.
func (m *clientProcess) Obey(ctx context.Context, o *bench.Order[part]) (a bench.Answer, err error) {
	switch {
	case o.Do == doRest:
		err = m.pause()
		verbs, _ := m.Counts()
		return bench.Answer{Ops: m.ops, Used: &bench.Used{Verbs: verbs.Minus(m.before)}}, err
	case o.Budget == nil:
		return a, fmt.Errorf("%q without a budget", o.Do)
	case o.Do == doLead:
		m.begin()
		m.goOn(ctx, *o.Budget)
		return a, nil
	case o.Do == doMeasure:
		return m.measure(ctx, *o.Budget)
	}
	return a, fmt.Errorf("command %q is unknown: are both processes of the same version?", o.Do)
}

// begin notes from when on operations and verbs are counted.
func (m *clientProcess) begin() {
	if m.behind == nil {
		m.ops = 0
		m.before, _ = m.Counts()
	}
}

// measure counts one run. Those who work already go on afterwards.
func (m *clientProcess) measure(ctx context.Context, b load.Budget) (a bench.Answer, err error) {
	m.begin()
	leads := m.behind != nil
	if err := m.pause(); err != nil {
		return a, err
	}
	before, err := host.ProcessTime()
	if err != nil {
		return a, err
	}
	sum, err := m.trial.run(ctx, b)
	if err != nil {
		return a, err
	}
	after, err := host.ProcessTime()
	a.Report = sum.Report(m.trial.Scale)
	if !host.PerThread || m.trial.c.Goroutines != 0 {
		a.Report.CPU = after - before
	}
	m.ops += sum.Ops
	if leads {
		m.goOn(ctx, b)
	}
	return a, err
}

// goOn lets the workers work until pause.
func (m *clientProcess) goOn(ctx context.Context, b load.Budget) {
	b.Ops, b.Time = 0, load.Forever
	m.behind = load.Start(ctx, m.trial.workers, b, m.trial.Scale, m.trial.pin())
}

// pause ends what goOn began, if anything.
func (m *clientProcess) pause() error {
	if m.behind == nil {
		return nil
	}
	m.behind.End()
	sum, err := m.behind.Wait()
	m.behind = nil
	m.ops += sum.Ops
	return err
}

// Counts implements bench.Server.
func (m *clientProcess) Counts() (load.Verbs, uint64) { return m.trial.server.posted(), 0 }

// Hide implements bench.Server.
func (*clientProcess) Hide() error { return nil }

// Close implements bench.Server.
func (m *clientProcess) Close() error {
	_ = m.pause() // whoever cared has been told
	if m.trial == nil {
		return nil
	}
	return m.trial.server.close()
}

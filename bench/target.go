package bench

import (
	"context"
	"slices"
	"time"

	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/internal/cycles"
)

// Target is one case with its server and its clients, whose trials make rows R. The engine
// calls its methods from one goroutine.
type Target[R any] interface {
	// Conditions says how it is measured. It is called before Start and after it.
	Conditions() Conditions
	// Start starts the server, where one is to be started, connects and stores what there
	// must be.
	Start(ctx context.Context) error
	// Workers returns those that do the operations, the same in every trial.
	Workers(ctx context.Context) ([]load.Worker, error)
	// Counters reads what is known of the server and the fabric. The engine adds the rest.
	Counters(ctx context.Context) (Counters, error)
	// Row makes the row of a trial, or says why there is none.
	Row(t *Trial) (R, error)
	// Blame adds what a dead server said to the error that its death caused here.
	Blame(err error) error
	// Close ends what Start and Workers have begun, also when they failed.
	Close() error
}

// Driver is a Target that has its operations done otherwise than by workers of this process.
type Driver interface {
	// Drive does the operations of a trial or a warm-up.
	Drive(ctx context.Context, b load.Budget) (load.Tally, error)
}

// Conditions are how a case is measured.
type Conditions struct {
	// Place has the CPUs of both sides, and Server is the process id of the server; 0: it is
	// this one, or was not started here.
	Place  host.Placement
	Server int
	// Remote says that the server is on another machine and uses none of these CPUs. What the
	// command that reaches it uses is among the Neighbours.
	Remote bool
	// Callers is how many operations can be begun at the same time.
	Callers int
	// Pinned says that workers are threads, pinned to the client's CPUs in turn.
	Pinned bool
	// Spread says that workers have others do a part on further threads: the client's CPU time
	// is that of its process.
	Spread bool
	// Procs is how many threads of this process may run Go code at the same time.
	Procs int
	// Loop says that client and server are one process.
	Loop bool
	// InFlight is how many operations a closed loop keeps in flight, in all; 0: nobody knows.
	// Alone is how many operations a second a caller does where server and way cost nothing;
	// 0 likewise.
	InFlight int
	Alone    float64
	// Open says that operations begin at times of their own, whether or not others have
	// ended.
	Open bool
	// NoGC turns the collector off during trials, of workers that allocate nothing.
	NoGC bool
}

// Counters are what was used until a moment.
type Counters struct {
	// Server is the CPU time of the server, nil where nobody knows, and ServerTime the time
	// at which it was read by the server's clock; 0: now.
	Server     *time.Duration
	ServerTime time.Duration
	// Verbs are those posted by both sides.
	Verbs load.Verbs

	// Client is the CPU time of client processes.
	Client time.Duration

	// Neighbours is the CPU time of further processes that were started here.
	Neighbours time.Duration

	// What the engine adds, beside the CPU time of this process to Client and that of what the
	// placement puts beside both sides to Neighbours: the time, and what all processes used of
	// the CPUs of the placement; nil where nobody knows.
	Time time.Time
	CPUs *host.Use
}

// look adds what the engine does.
func (k *Counters) look(place host.Placement) (err error) {
	both := slices.Concat(place.Client, place.Server)
	if slices.Sort(both); len(both) == 0 {
		both = host.CPUs()
	}
	if all, err := host.UseOf(slices.Compact(both)); err == nil {
		k.CPUs = &all
	}
	k.Time = time.Now()
	own, err := host.ProcessTime()
	k.Client += own
	return err
}

// Trial is one measurement of a case.
type Trial struct {
	Conditions
	Case   any    // the same for all trials of a case
	Title  string // of the case
	Number int    // from 1
	Every  int    // one operation in Every was timed
	Tally  load.Tally
	// Before and After are what was used until the trial and until its end.
	Before, After Counters

	scale cycles.Scale
	watch *Watch
}

// Measure returns what every row has, with what makes it doubtful.
func (t *Trial) Measure() Measure {
	m := MeasureOf(&t.Tally, t.Number, t.Every, t.scale)
	t.charge(&m)
	t.watch.Trial(&m, t)
	return m
}

// Doubt adds what makes the row of the trial doubtful, if anything does.
func (t *Trial) Doubt(m *Measure, why string) { t.watch.Doubt(m, why) }

// VerbsPerOp returns the verbs of both sides that one operation takes.
func (t *Trial) VerbsPerOp() load.VerbsPerOp {
	return t.After.Verbs.Minus(t.Before.Verbs).Per(t.Tally.Ops)
}

// charge fills in who has used how much CPU (E5).
func (t *Trial) charge(m *Measure) {
	elapsed := t.After.Time.Sub(t.Before.Time)
	process := t.After.Client - t.Before.Client
	threads := t.Pinned && !t.Spread && host.PerThread
	if threads {
		m.ClientCPU = load.Percent(t.Tally.CPU, t.Tally.Time(t.scale), 1)
	} else if !t.Loop {
		m.ClientCPU = load.Percent(process, elapsed, 1)
	}
	switch {
	case t.Before.Server != nil && t.After.Server != nil:
		if d := t.After.ServerTime - t.Before.ServerTime; d > 0 {
			elapsed = d
		}
		m.ServerCPU = load.Percent(*t.After.Server-*t.Before.Server, elapsed, 1)
	case t.Loop && threads:
		m.ServerCPU = load.Percent(max(process-t.Tally.CPU, time.Duration(0)), elapsed, 1)
	}
}

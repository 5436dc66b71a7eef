package perf

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/remora-kv/remora/bench"

	"github.com/remora-kv/remora/bench/host"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/internal/arena"
	"github.com/remora-kv/remora/internal/cycles"
)

// Env is what a run needs from the program around it.
type Env struct {
	// Providers opens the devices of this process; usually a provider.Set.
	Providers Opener
	// Server is the command line of a process that calls Serve on its standard
	// input and output, and ServerEnv what is added to its environment.
	Server, ServerEnv []string
	// Row, when not nil, is called with every row as soon as it is measured.
	Row func(Row) error
	// Progress, when not nil, is called before every case and trial.
	Progress func(Progress)
}

// Opener opens a device by the name of its fabric. On the loop fabric all that
// it opens must be on one network.
type Opener = bench.Opener

// Progress says what is being measured.
type Progress = bench.Progress

// Report is the outcome of a run: rows, notes and warnings.
type Report struct {
	Rows []Row
	bench.Remarks
}

// Run measures what cfg asks for, case after case. On an error it returns what
// was measured until then.
func Run(ctx context.Context, cfg Config, env Env) (*Report, error) {
	if err := cfg.normalize(); err != nil {
		return nil, err
	}
	limits, err := bench.FabricLimits(env.Providers, cfg.Fabric)
	if err != nil {
		return nil, err
	}
	cases, err := cfg.plan(limits)
	if err != nil {
		return nil, err
	}
	r := &runner{
		Teller: bench.Teller{To: env.Progress, Trials: cfg.Trials},
		cfg:    cfg, env: env, report: &Report{}, cpus: host.CPUs(), scale: cycles.Calibrate(),
	}
	r.watch = bench.NewWatch(&r.report.Remarks, r.scale, r.cpus)
	if err := bench.RunAll(ctx, &r.Teller, cases, r.measure); err != nil {
		return r.report, err
	}
	r.notes(cases)
	r.watch.End()
	return r.report, nil
}

type runner struct {
	bench.Teller
	cfg    Config
	env    Env
	report *Report
	cpus   []int
	scale  cycles.Scale
	watch  *bench.Watch
}

// Title names a case for people.
func (c *Case) Title() string {
	s := fmt.Sprintf("%s %d B window %d", c.Test, c.Size, c.Window)
	if c.Accesses > 0 {
		s += fmt.Sprintf(" accesses %d prefetch %s", c.Accesses, onOff(c.Prefetch))
	}
	if c.Threads > 1 {
		s += fmt.Sprintf(" threads %d", c.Threads)
	}
	return s
}

// measure runs one case: all its trials over one set of connections.
func (r *runner) measure(ctx context.Context, c *Case) (err error) {
	p := r.place(c)
	r.report.Warn(p.Warning)
	runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), c.Threads+2))
	s := &session{runner: r, c: c, place: p}
	defer func() {
		if closed := s.close(); err == nil {
			err = closed // after a failure it only repeats what that led to
		}
	}()
	if err := s.open(ctx); err != nil {
		return err
	}
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // see the package doc
	if c.Kind == kindIdle {
		return s.idle(ctx)
	}
	return s.trials(ctx)
}

// place decides about CPUs.
func (r *runner) place(c *Case) placement {
	if r.cfg.Remote {
		return placeApart(c, r.cpus)
	}
	return place(c, r.cpus)
}

// session is one case with its server.
type session struct {
	*runner
	c      *Case
	place  placement
	peer   *peer
	side   *side
	memory *arena.Block
	posted uint64 // operations in all, warm-up included
}

// open starts the server and connects everything.
func (s *session) open(ctx context.Context) error {
	if err := s.startServer(ctx); err != nil {
		return err
	}
	hello, err := s.peer.Ask(command{
		Do: doSetup, Case: s.c, CPUs: s.place.Server, Threads: s.place.serverThreads, Listen: s.cfg.Listen,
	})
	if err != nil {
		return err
	}
	link := command{Do: doLink}
	if s.c.Kind == kindLimit {
		s.side = &side{c: s.c, role: client, scale: s.scale, progs: []program{limitSide(s.memory.Bytes(), s.c, client)}}
	} else if link.Datagram, err = s.connect(ctx, hello); err != nil {
		return err
	}
	s.side.cpus = s.place.Client
	if _, err = s.peer.Ask(link); err != nil {
		return err
	}
	return s.side.prepare()
}

func (s *session) startServer(ctx context.Context) (err error) {
	if s.c.Fabric == provider.Loop {
		s.peer = host.GoPeer[command, answer](ctx, (&verbsServer{providers: s.env.Providers, scale: s.scale}).serve)
		return nil
	}
	var files []*os.File
	if s.c.Kind == kindLimit {
		if s.memory, err = limitMemory(s.c); err != nil {
			return err
		}
		f, err := dupFile(s.memory.FD())
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		files = append(files, f)
	}
	s.peer, err = host.StartPeer[command, answer](ctx, s.env.Server, s.env.ServerEnv, files...)
	return err
}

// connectTimeout bounds one connection.
const connectTimeout = 10 * time.Second

// connect makes the client's side and its lanes. It returns the addresses of
// its datagram queue pairs.
func (s *session) connect(ctx context.Context, hello answer) (addrs [][]byte, err error) {
	dev, err := s.env.Providers.Open(s.c.Fabric)
	if err != nil {
		return nil, err
	}
	if s.side, err = newSide(dev, s.c, client, clientLanes(s.c), s.scale); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if s.c.Transport == fabric.UD || s.c.mails() {
		if addrs, err = s.side.makeDatagrams(); err != nil {
			return nil, err
		}
		if err := s.side.aimDatagrams(ctx, hello.Datagram); err != nil || s.c.Transport == fabric.UD {
			return addrs, err
		}
	}
	addr, err := fabric.ParseAddr(hello.Address)
	if err != nil {
		return nil, err
	}
	for id := range s.c.lanes() {
		e, l, err := s.side.at(id)
		if err != nil {
			return nil, err
		}
		if err := e.dial(ctx, s.c, l, id, addr); err != nil {
			return nil, err
		}
	}
	return addrs, nil
}

// close ends the server, then the client's side.
func (s *session) close() error {
	var errs []error
	if s.side != nil && s.side.live != nil {
		_, err := s.side.stop()
		errs = append(errs, err)
	}
	if s.peer != nil {
		errs = append(errs, s.peer.Close())
	}
	if s.side != nil {
		errs = append(errs, s.side.close())
	}
	if s.memory != nil {
		errs = append(errs, s.memory.Free())
	}
	return errors.Join(errs...)
}

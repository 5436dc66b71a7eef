package call

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/remora-kv/remora/bench"

	"github.com/remora-kv/remora/bench/host"

	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/internal/cycles"
	"github.com/remora-kv/remora/rpc/rfp"
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

// Opener opens a device by the name of its fabric. On the loop fabric all that it
// opens must be on one network.
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
	if err := bench.RunAll(ctx, &r.Teller, cases, r.measure); err != nil {
		return r.report, err
	}
	r.notes(&cases[0])
	return r.report, nil
}

type runner struct {
	bench.Teller
	cfg    Config
	env    Env
	report *Report
	cpus   []int
	scale  cycles.Scale
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
	s.Tell(0)
	if err := s.open(ctx); err != nil {
		return err
	}
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // C6
	return s.trials(ctx)
}

// place decides about CPUs.
func (r *runner) place(c *Case) host.Placement {
	if r.cfg.Remote {
		return host.Apart(r.cpus, c.Threads)
	}
	return host.Split(r.cpus, c.Threads, c.Cores)
}

// session is one case with its server and its connections.
type session struct {
	*runner
	c       *Case
	place   host.Placement
	peer    *peer
	dev     fabric.Device
	conns   []*rfp.Conn // in use
	clients []*rfp.Client
	idle    []*rfp.Conn
	workers []load.Worker
}

// open starts the server and connects everything. Those who stay idle come
// first, so that they are in the way where there is a way.
func (s *session) open(ctx context.Context) (err error) {
	if s.c.Fabric == provider.Loop {
		h := &callServer{providers: s.env.Providers, scale: s.scale, log: slog.New(slog.DiscardHandler)}
		s.peer = host.GoPeer[command, answer](ctx, h.serve)
	} else if s.peer, err = host.StartPeer[command, answer](ctx, s.env.Server, s.env.ServerEnv); err != nil {
		return err
	}
	hello, err := s.peer.Ask(command{
		Do: doSetup, Case: s.c, CPUs: s.place.Server, Apart: s.cfg.Remote, Listen: s.cfg.Listen,
	})
	if err != nil {
		return err
	}
	addr, err := fabric.ParseAddr(hello.Address)
	if err != nil {
		return err
	}
	if s.dev, err = s.env.Providers.Open(s.c.Fabric); err != nil {
		return err
	}
	for i := range s.c.Connected {
		conn, err := s.dial(ctx, addr)
		if err != nil {
			return fmt.Errorf("connection %d of %d: %w", i+1, s.c.Connected+s.c.Clients, s.peer.Blame(err))
		}
		s.idle = append(s.idle, conn)
	}
	for range s.c.Clients {
		conn, err := s.dial(ctx, addr)
		if err != nil {
			return s.peer.Blame(err)
		}
		s.conns = append(s.conns, conn)
	}
	s.employ()
	// The socket file has done its duty: nothing is left behind however the
	// processes end.
	_, err = s.peer.Ask(command{Do: doHide})
	return err
}

// connectTimeout bounds one connection.
const connectTimeout = 10 * time.Second

func (s *session) dial(ctx context.Context, addr fabric.Addr) (*rfp.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	return rfp.Dial(ctx, addr, s.c.connConfig(s.dev))
}

// employ gives each connection to those who use it.
func (s *session) employ() {
	if s.c.Goroutines != 0 {
		for _, conn := range s.conns {
			client := rfp.NewClient(conn)
			s.clients = append(s.clients, client)
			for range s.c.Goroutines {
				s.workers = append(s.workers, newCaller(client, s.c, len(s.workers)))
			}
		}
		return
	}
	drivers := make([]*driver, s.c.Threads)
	for i := range drivers {
		drivers[i] = &driver{}
		s.workers = append(s.workers, drivers[i])
	}
	for i, conn := range s.conns {
		d := drivers[i%len(drivers)]
		d.lanes = append(d.lanes, newLane(conn, s.c))
	}
}

// close ends the connections, then the server.
func (s *session) close() error {
	var errs []error
	if len(s.clients) == 0 {
		s.idle = append(s.idle, s.conns...)
	}
	for _, c := range s.clients {
		errs = append(errs, c.Close())
	}
	for _, c := range s.idle {
		errs = append(errs, c.Close())
	}
	if s.peer != nil {
		errs = append(errs, s.peer.Close())
	}
	if s.dev != nil {
		errs = append(errs, s.dev.Close())
	}
	return errors.Join(errs...)
}

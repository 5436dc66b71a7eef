package verbs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/arena"
)

// verbs is one case with its two sides, of which one issues operations and the other reacts.
type verbs struct {
	*runner
	c      *Case
	place  placement
	peer   *bench.Peer[Case]
	side   *side
	memory *arena.Block
	posted uint64 // operations in all, warm-up included
}

// Conditions implements bench.Target. The collector is off: nothing is allocated (M4).
func (s *verbs) Conditions() bench.Conditions {
	pid := 0
	if s.peer != nil && !s.cfg.Remote {
		pid = s.peer.Pid()
	}
	return bench.Conditions{
		Place: s.place.Placement, Server: pid, Remote: s.cfg.Remote, Callers: 1, Loop: s.c.loop(), NoGC: true,
		InFlight: s.c.inFlight(), Procs: max(runtime.GOMAXPROCS(0), s.c.Threads+2),
	}
}

// Start implements bench.Target: it starts the server and connects everything.
func (s *verbs) Start(ctx context.Context) error {
	hello, err := s.startServer(ctx)
	if err != nil {
		return err
	}
	link := bench.Order[Case]{Do: doLink}
	if s.c.Kind == kindLimit {
		s.side = &side{c: s.c, role: client, scale: s.Scale, progs: []program{limitSide(s.memory.Bytes(), s.c, client)}}
	} else if link.Data, err = s.connect(ctx, hello); err != nil {
		return err
	}
	s.side.cpus = s.place.Client
	if _, err = s.peer.Ask(link); err != nil {
		return err
	}
	return s.side.prepare()
}

func (s *verbs) startServer(ctx context.Context) (hello bench.Answer, err error) {
	var here bench.Server[Case]
	if s.c.loop() {
		here = &verbsServer{providers: s.Env.Providers, scale: s.Scale}
	}
	var files []*os.File
	if s.c.Kind == kindLimit {
		if s.memory, err = limitMemory(s.c); err != nil {
			return hello, err
		}
		f, err := dupFile(s.memory.FD())
		if err != nil {
			return hello, err
		}
		defer func() { _ = f.Close() }()
		files = append(files, f)
	}
	order := bench.Order[Case]{Case: s.c, Threads: s.place.serverThreads, Listen: s.cfg.Listen}
	s.peer, hello, err = bench.StartPeer(ctx, &s.Env, &s.place.Placement, here, order, files...)
	return hello, err
}

// connectTimeout bounds one connection.
const connectTimeout = 10 * time.Second

// connect makes the client's side and its lanes. It returns the addresses of
// its datagram queue pairs.
func (s *verbs) connect(ctx context.Context, hello bench.Answer) (addrs [][]byte, err error) {
	dev, err := s.Env.Providers.Open(s.c.Fabric)
	if err != nil {
		return nil, err
	}
	if s.side, err = newSide(dev, s.c, client, clientLanes(s.c), s.Scale); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if s.c.Transport == fabric.UD || s.c.mails() {
		if addrs, err = s.side.makeDatagrams(); err != nil {
			return nil, err
		}
		if err := s.side.aimDatagrams(ctx, hello.Data); err != nil || s.c.Transport == fabric.UD {
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

// Workers implements bench.Target: Drive has its own.
func (s *verbs) Workers(context.Context) ([]load.Worker, error) { return nil, nil }

// Counters implements bench.Target.
func (s *verbs) Counters(context.Context) (k bench.Counters, err error) {
	if s.c.loop() {
		return k, nil
	}
	cpu, err := s.peer.CPU()
	if s.cfg.Remote {
		k.Neighbours = cpu // of the command that reaches the server
	} else {
		k.Server = &cpu
	}
	return k, err
}

// Drive implements bench.Driver: it runs both sides once.
func (s *verbs) Drive(ctx context.Context, b load.Budget) (load.Tally, error) {
	if err := s.startPassive(ctx); err != nil {
		return load.Tally{}, err
	}
	t, err := s.issue(ctx, b)
	if err != nil {
		return t, err
	}
	received, err := s.stopPassive()
	if err != nil {
		return t, err
	}
	if s.c.Op == fabric.OpSend && (s.c.Kind == kindInbound || s.c.Kind == kindOutbound) {
		if s.c.Transport == fabric.RC && received != t.Ops {
			return t, fmt.Errorf("%d messages were sent and %d received", t.Ops, received)
		}
		t.Lost = t.Ops - min(t.Ops, received)
	}
	return t, nil
}

// issue runs the side that issues the operations.
func (s *verbs) issue(ctx context.Context, b load.Budget) (t load.Tally, err error) {
	if s.c.Kind == kindOutbound {
		var a bench.Answer
		if a, err = s.peer.Ask(bench.Order[Case]{Do: doRun, Budget: &b}); err == nil && a.Report == nil {
			err = fmt.Errorf("the server does not answer %q: are client and server of the same version?", doRun)
		}
		if err == nil {
			t, err = load.Merge([]*load.Report{a.Report}, false, s.Scale)
		}
	} else {
		t, err = s.side.run(ctx, b)
	}
	s.posted += t.Ops
	return t, err
}

// startPassive starts the side that only reacts.
func (s *verbs) startPassive(ctx context.Context) error {
	if s.c.Kind == kindOutbound {
		s.side.start(ctx, passive())
		return nil
	}
	_, err := s.peer.Ask(bench.Order[Case]{Do: doStart})
	return err
}

// stopPassive stops it and returns how much it received.
func (s *verbs) stopPassive() (uint64, error) {
	if s.c.Kind == kindOutbound {
		t, err := s.side.stop()
		return t.Ops, err
	}
	a, err := s.peer.Ask(bench.Order[Case]{Do: doStop})
	return a.Ops, err
}

// Row implements bench.Target.
func (s *verbs) Row(t *bench.Trial) (Row, error) {
	row := rowOf(s.c, t.Measure(), t.Tally.Lost)
	if limit := s.limitFor(&row); limit > 0 {
		ratio := load.Round(row.OpsPerSec/limit, 4)
		row.LimitRatio = &ratio
	}
	return row, s.verify()
}

// verify checks the memory at both ends.
func (s *verbs) verify() error {
	if s.c.Kind == kindLimit || s.c.Kind == kindEcho || s.c.Kind == kindIdle {
		return nil
	}
	if err := s.side.verify(s.posted); err != nil {
		return err
	}
	_, err := s.peer.Ask(bench.Order[Case]{Do: doVerify, Ops: s.posted})
	return err
}

// limitFor returns the rate of the bare machine that an echo is compared with:
// the median trial at the same window, size and placement. 0: not measured.
func (s *verbs) limitFor(row *Row) float64 {
	if s.c.Kind != kindEcho || row.Threads != 1 || row.Accesses > 0 {
		return 0
	}
	for _, m := range medians(s.Report.Rows) {
		if l := &m.Row; l.Test == limitTest && l.Window == row.Window && l.Size == row.Size && l.Placement == row.Placement {
			return m.Row.OpsPerSec
		}
	}
	return 0
}

// Blame implements bench.Target.
func (s *verbs) Blame(err error) error { return s.peer.Blame(err) }

// Close implements bench.Target. It ends the server, then the client's side.
func (s *verbs) Close() error {
	var errs []error
	if s.side != nil && s.side.live != nil {
		_, err := s.side.stop()
		errs = append(errs, err)
	}
	errs = append(errs, bench.Close(s.peer))
	if s.side != nil {
		errs = append(errs, s.side.close())
	}
	if s.memory != nil {
		errs = append(errs, s.memory.Free())
	}
	return errors.Join(errs...)
}

package calls

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc/rfp"
)

// calls is one case with its server and its connections.
type calls struct {
	*runner
	c       *Case
	place   host.Placement
	peer    *bench.Peer[Case]
	dev     fabric.Device
	conns   []*rfp.Conn // in use
	clients []*rfp.Client
	idle    []*rfp.Conn
	seen    []counts // of the connections, at each look
}

// Conditions implements bench.Target. The collector is off: a call allocates nothing (C6).
func (t *calls) Conditions() bench.Conditions {
	pid := 0
	if t.peer != nil && !t.cfg.Remote {
		pid = t.peer.Pid()
	}
	return bench.Conditions{
		Place: t.place, Server: pid, Remote: t.cfg.Remote, Callers: t.c.callers(), Pinned: t.c.Goroutines == 0, Loop: t.c.loop(), NoGC: true,
		InFlight: t.c.inFlight(), Procs: max(runtime.GOMAXPROCS(0), t.c.Threads+2),
	}
}

// Start implements bench.Target. Connections that stay idle are made first, so that they are
// in the way where there is a way.
func (t *calls) Start(ctx context.Context) (err error) {
	var here bench.Server[Case]
	if t.c.loop() {
		here = &callServer{providers: t.Env.Providers, scale: t.Scale, log: slog.New(slog.DiscardHandler)}
	}
	order := bench.Order[Case]{Case: t.c, Apart: t.cfg.Remote, Listen: t.cfg.Listen}
	var hello bench.Answer
	if t.peer, hello, err = bench.StartPeer(ctx, &t.Env, &t.place, here, order); err != nil {
		return err
	}
	addr, err := fabric.ParseAddr(hello.Address)
	if err != nil {
		return err
	}
	if t.dev, err = t.Env.Providers.Open(t.c.Fabric); err != nil {
		return err
	}
	for i := range t.c.Connected {
		conn, err := t.dial(ctx, addr)
		if err != nil {
			return fmt.Errorf("connection %d of %d: %w", i+1, t.c.Connected+t.c.Clients, t.Blame(err))
		}
		t.idle = append(t.idle, conn)
	}
	for range t.c.Clients {
		conn, err := t.dial(ctx, addr)
		if err != nil {
			return t.Blame(err)
		}
		t.conns = append(t.conns, conn)
	}
	return t.peer.Hide()
}

// connectTimeout bounds one connection.
const connectTimeout = 10 * time.Second

func (t *calls) dial(ctx context.Context, addr fabric.Addr) (*rfp.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	return rfp.Dial(ctx, addr, t.c.connConfig(t.dev))
}

// Workers implements bench.Target: it gives each connection to those who use it.
func (t *calls) Workers(context.Context) (workers []load.Worker, err error) {
	if t.c.Goroutines != 0 {
		for _, conn := range t.conns {
			client := rfp.NewClient(conn)
			t.clients = append(t.clients, client)
			for range t.c.Goroutines {
				workers = append(workers, newCaller(client, t.c, len(workers)))
			}
		}
		return workers, nil
	}
	drivers := make([]*driver, t.c.Threads)
	for i := range drivers {
		drivers[i] = &driver{}
		workers = append(workers, drivers[i])
	}
	for i, conn := range t.conns {
		d := drivers[i%len(drivers)]
		d.lanes = append(d.lanes, newLane(conn, t.c))
	}
	return workers, nil
}

// counts are what the connections have counted and the server has lost until a moment.
type counts struct{ misses, switches, lost uint64 }

// Counters implements bench.Target.
func (t *calls) Counters(context.Context) (k bench.Counters, err error) {
	used, err := t.peer.Count()
	if err != nil {
		return k, err
	}
	n := counts{lost: used.Lost}
	for _, c := range t.conns {
		st := c.Stats()
		n.misses += st.Misses
		n.switches += st.Switches
	}
	t.seen = append(t.seen, n)
	counters := t.dev.Counters()
	k = used.Counters(load.VerbsOf(&counters), t.c.loop())
	if t.cfg.Remote {
		k.Neighbours, err = t.peer.CPU()
	}
	return k, err
}

// Row implements bench.Target.
func (t *calls) Row(trial *bench.Trial) (Row, error) {
	before, after := t.seen[len(t.seen)-2], t.seen[len(t.seen)-1]
	if n := after.lost - before.lost; n != 0 {
		return Row{}, fmt.Errorf("the server has lost or cut off %d clients%s", n, t.peer.Said())
	}
	row := rowOf(t.c, trial)
	if trial.Tally.Ops != 0 {
		row.Misses = load.Round(float64(after.misses-before.misses)/float64(trial.Tally.Ops), 4)
	}
	row.Switches = after.switches - before.switches
	row.Mode, row.Batch = t.mode(), t.batch()
	row.Retries, row.FetchSize = t.conns[0].Choice().R, t.conns[0].Choice().F
	return row, nil
}

// mode is that of all connections.
func (t *calls) mode() string {
	m := t.conns[0].Mode(class)
	for _, c := range t.conns[1:] {
		if c.Mode(class) != m {
			return "mixed"
		}
	}
	return m.String()
}

// batch is the size in use, on average where connections choose it themselves.
func (t *calls) batch() int {
	sum := 0
	for _, c := range t.conns {
		sum += c.Batch()
	}
	return (sum + len(t.conns)/2) / len(t.conns)
}

// Blame implements bench.Target.
func (t *calls) Blame(err error) error { return t.peer.Blame(err) }

// Close implements bench.Target. It ends the connections, then the server.
func (t *calls) Close() error {
	conns := t.idle
	if len(t.clients) == 0 {
		conns = append(conns, t.conns...)
	}
	return errors.Join(bench.CloseAll(t.clients), bench.CloseAll(conns), bench.Close(t.peer), bench.Close(t.dev))
}

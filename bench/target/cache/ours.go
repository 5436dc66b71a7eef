package cache

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/host"

	"github.com/remora-kv/remora/bench/load"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/server"
)

// ours is a server of Remora.
type ours struct {
	*runner
	c        *Case
	place    host.Placement
	peer     *bench.Peer[Case] // nil: it was running
	url      string
	dev      fabric.Device
	clients  []*remora.Client
	sessions []*remora.Session
	info     remora.Info
	prefetch string   // whether the server does
	held     holdings // what it had at the last look
	window   int      // the largest that the server has granted (C12)
}

func (t *ours) open(ctx context.Context) (err error) {
	if t.url = t.cfg.Server; t.url == "" {
		if err := t.start(ctx); err != nil {
			return err
		}
	}
	if t.dev, err = t.Env.Providers.Open(t.url); err != nil {
		return err
	}
	clients := 1
	if t.c.Goroutines != 0 && t.c.Processes == 0 {
		clients = t.c.Clients
	}
	for range clients {
		c, err := t.dial(ctx)
		if err != nil {
			return t.blame(err)
		}
		t.clients = append(t.clients, c)
	}
	t.info = t.clients[0].Info()
	return nil
}

// start starts the server.
func (t *ours) start(ctx context.Context) (err error) {
	var here bench.Server[Case]
	if t.c.Fabric == provider.Loop {
		here = &cacheServer{providers: t.Env.Providers, log: slog.New(slog.DiscardHandler)}
	}
	var hello bench.Answer
	t.peer, hello, err = bench.StartPeer(ctx, &t.Env, &t.place, here, bench.Order[Case]{Case: t.c})
	t.url = hello.Address
	return err
}

// dialTimeout bounds the making of connections.
const dialTimeout = 10 * time.Second

func (t *ours) dial(ctx context.Context) (*remora.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	return remora.Dial(ctx, t.url, t.options(t.c.Window, t.c.Batch, remora.WithDevice(t.dev))...)
}

// options are those of a client or a session. A lost server is to be an error at
// once.
func (t *ours) options(window, batch int, more ...remora.Option) []remora.Option {
	if t.c.Links != 0 {
		more = append(more, remora.WithRecency(remora.Recency(t.c.Recency)))
	}
	if t.c.Links != LinksAuto {
		more = append(more, remora.WithLinks(t.c.Links))
	}
	return append([]remora.Option{
		remora.WithPath(remora.Path(t.c.Path)), remora.WithBusyPoll(t.c.Poll == fabric.Busy), remora.WithWindow(window), remora.WithBatch(batch),
		remora.WithFetch(t.c.FetchSize, t.c.Retries), remora.WithReconnectWait(0),
	}, more...)
}

func (t *ours) session(ctx context.Context, window, batch int) (*remora.Session, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	s, err := t.clients[0].Session(ctx, t.options(window, batch)...)
	if err != nil {
		return nil, t.blame(err)
	}
	return s, nil
}

func (t *ours) loader(ctx context.Context) (load.Worker, func() error, error) {
	c := *t.c
	c.Window, c.Batch = loadWindow(t.c)
	s, err := t.session(ctx, c.Window, c.Batch)
	if err != nil {
		return nil, nil, err
	}
	mix := c.mix(t.cfg.Seed)
	return newDriver(&sessionLane{Session: s, batch: c.Batch}, &c, mix.All()), s.Close, nil
}

func (t *ours) workers(ctx context.Context) (out []load.Worker, err error) {
	if err := t.connect(ctx); err != nil {
		return nil, err
	}
	if err := t.connected(); err != nil {
		return nil, err
	}
	mix := t.mixOf(t.c)
	for _, s := range t.sessions {
		out = append(out, t.newPaced(&sessionLane{Session: s, batch: t.c.Batch}, t.c, mix.Stream(t.number(len(out))), len(out)))
	}
	if t.c.Goroutines != 0 {
		for _, c := range t.clients {
			for range t.c.Goroutines {
				out = append(out, newCaller(remoraClient{c}, t.c, mix.Stream(t.number(len(out)))))
			}
		}
	}
	return out, nil
}

func (t *ours) address() string { return t.url }

// connected removes the socket of a server that was started here.
func (t *ours) connected() error {
	if t.peer == nil {
		return nil
	}
	return t.peer.Hide()
}

func (t *ours) posted() load.Verbs {
	counters := t.dev.Counters()
	return load.VerbsOf(&counters)
}

// connect makes the sessions of drivers.
func (t *ours) connect(ctx context.Context) error {
	if t.c.Goroutines != 0 {
		return nil
	}
	for range t.c.Clients {
		s, err := t.session(ctx, t.c.Window, t.c.Batch)
		if err != nil {
			return fmt.Errorf("session %d of %d: %w", len(t.sessions)+1, t.c.Clients, err)
		}
		t.sessions = append(t.sessions, s)
	}
	return nil
}

func (t *ours) look(ctx context.Context) (g bench.Counters, err error) {
	docs, err := t.clients[0].Stats(ctx)
	if err != nil {
		return g, t.blame(err)
	}
	core, err := t.statistics(docs)
	if err != nil {
		return g, err
	}
	g.Verbs = t.posted()
	if t.prefetch = PrefetchOff; core.Prefetch {
		t.prefetch = PrefetchOn
	}
	for i := range core.Sessions {
		t.window = max(t.window, core.Sessions[i].Window)
	}
	switch t.c.Path {
	case PathHerd:
		t.window = server.HerdWindow
	case PathSendRecv:
		t.window = server.SendRecvWindow
	}
	for i := range core.Fabrics {
		g.Verbs = g.Verbs.Plus(posted(core.Fabrics[i].Out))
	}
	if t.peer != nil && t.peer.Pid() != 0 {
		cpu, err := t.peer.CPU()
		if err != nil {
			return g, err
		}
		g.Server = &cpu
	}
	return g, nil
}

// statistics reads those of all cores, and returns those of the first.
func (t *ours) statistics(docs []json.RawMessage) (first server.Stats, err error) {
	t.held = holdings{}
	for i, doc := range docs {
		var core server.Stats
		if err := json.Unmarshal(doc, &core); err != nil {
			return first, fmt.Errorf("statistics of the server: %w", err)
		}
		t.held.items += core.Store.Items
		t.held.bytes += core.Store.ItemBytes + core.Store.IndexBytes
		if i == 0 {
			first = core
		}
	}
	return first, nil
}

// posted counts the verbs of a server's statistics.
func posted(out map[string]uint64) load.Verbs {
	var k fabric.Counters
	for op := range fabric.NumOps {
		k.Out[op] = out[op.String()]
	}
	return load.VerbsOf(&k)
}

func (t *ours) describe(row *Row) {
	row.Fabric, row.Engine, row.Cores = t.info.Fabric, t.info.Engine, t.info.Cores
	row.ServerVersion, row.Client, row.Prefetch = t.info.Version, clientSession, t.prefetch
	t.held.describe(row)
	if t.window != 0 && t.window < row.Window {
		row.Window = t.window
		t.report.Warn(fmt.Sprintf("the server grants a window of %d frames: rows say that instead of a larger --window", t.window))
	}
	if t.c.Goroutines != 0 {
		row.Client = clientRemora
	}
}

func (t *ours) pid() int {
	if t.peer == nil {
		return 0
	}
	return t.peer.Pid()
}

func (t *ours) blame(err error) error {
	if t.peer == nil {
		return err
	}
	return t.peer.Blame(err)
}

func (t *ours) close() error {
	return errors.Join(bench.CloseAll(t.sessions), bench.CloseAll(t.clients), bench.Close(t.peer), bench.Close(t.dev))
}

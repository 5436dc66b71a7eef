package kvl

import (
	"bytes"
	"context"
	"errors"
	"hash/maphash"
	"log/slog"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/bench/target"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/kvl"
	"github.com/remora-kv/remora/kvl/keli"
)

// run is one case with its server and its connection. It is its only worker.
type run struct {
	*runner
	c       *Case
	place   host.Placement
	peer    *bench.Peer[Case]
	other   *target.Foreign
	dev     fabric.Device
	client  *keli.Client
	session *keli.Session
	cache   *remora.Client
	store   filler
	items   int64

	keys      [][]byte   // of the crossings that are read
	links     []kvl.Link // to them
	placeName uint16     // the attribute of crossings, in the image
	text      bytes.Buffer

	sum   uint64 // of the results of a trial
	edges int    // that a search has looked at
}

// Conditions implements bench.Target.
func (u *run) Conditions() bench.Conditions {
	pid := 0
	switch {
	case u.peer != nil:
		pid = u.peer.Pid()
	case u.other != nil:
		pid = u.other.Pid()
	}
	return bench.Conditions{Place: u.place, Server: pid, Callers: 1, Pinned: true, Spread: u.c.Path == PathLinksTwo, Loop: u.loop()}
}

// loop reports whether the server is in this process.
func (u *run) loop() bool { return u.c.Fabric == provider.Loop }

var sumSeed = maphash.MakeSeed()

// newSum is the sum of no results; add adds one.
func newSum() uint64 { return 1 }

func (u *run) add(result []byte) { u.sum = u.sum*31 + maphash.Bytes(sumSeed, result) }

// comparable names those whose results must be the same.
func (u *run) comparable() string {
	switch {
	case u.c.App == AppSearch && u.c.by(PathMemcached):
		return PathMemcached
	case u.c.Path == PathLinksTwo && u.c.Users != 0: // which of them come first is not told
		return PathLinksTwo
	}
	return ""
}

// Start implements bench.Target: it starts the server, connects and loads the data (M2).
func (u *run) Start(ctx context.Context) (err error) {
	if u.c.by(PathMemcached) {
		return u.openMemcached(ctx)
	}
	var here bench.Server[Case]
	if u.loop() {
		here = &kvlServer{providers: u.Env.Providers, log: slog.New(slog.DiscardHandler)}
	}
	var a bench.Answer
	if u.peer, a, err = bench.StartPeer(ctx, &u.Env, &u.place, here, bench.Order[Case]{Case: u.c}); err != nil {
		return err
	}
	if u.dev, err = u.Env.Providers.Open(u.c.Fabric); err != nil {
		return err
	}
	if u.c.cached() {
		err = u.dialCache(ctx, a.Address)
	} else {
		u.items = a.Items
		err = u.dialKeli(ctx, a.Address)
	}
	if err != nil {
		return u.peer.Blame(err)
	}
	return u.peer.Hide()
}

// loadWindow and loadBatch are for filling a cache.
const (
	loadWindow = 8
	loadBatch  = 32
)

func (u *run) dialCache(ctx context.Context, url string) (err error) {
	if u.cache, err = remora.Dial(ctx, url, remora.WithDevice(u.dev)); err != nil {
		return err
	}
	s, err := u.cache.Session(ctx, remora.WithWindow(loadWindow), remora.WithBatch(loadBatch))
	if err != nil {
		return err
	}
	fill := newSessionStore(ctx, s, 1)
	err = u.fill(ctx, fill)
	if err := errors.Join(err, fill.Close()); err != nil {
		return err
	}
	window, batch := u.c.frames()
	if s, err = u.cache.Session(ctx, remora.WithWindow(window), remora.WithBatch(batch)); err != nil {
		return err
	}
	u.store = newSessionStore(ctx, s, u.c.Window)
	return nil
}

// frames divides a window of reads into frames: one of them in each, or those of half a
// window, so that one is served while the other is filled.
func (c *Case) frames() (window, batch int) {
	if c.Path == PathBatch && c.Window > 1 {
		return 2, c.Window / 2
	}
	return c.Window, 1
}

func (u *run) openMemcached(ctx context.Context) (err error) {
	u.other, err = target.StartForeign(ctx, target.ForeignConfig{
		Program: target.MemcachedProgram(), Network: "tcp", CPUs: u.place.Server, Threads: 1, Memory: 2 * u.c.memory(),
		Args: []string{"-M"},
	})
	if err != nil {
		return err
	}
	conn, err := target.DialPipeline(u.other.Network, u.other.Address, target.Memcached{}, false)
	if err != nil {
		return err
	}
	p := &pipeStore{conn: conn, depth: u.c.Window}
	u.store = p
	return u.fill(ctx, p)
}

// fill stores the data.
func (u *run) fill(ctx context.Context, s filler) error {
	n, err := u.c.values(func(key, value []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return s.put(key, value)
	})
	u.items = int64(n)
	if err != nil {
		return err
	}
	return s.settle(ctx)
}

// Counters implements bench.Target.
func (u *run) Counters(context.Context) (k bench.Counters, err error) {
	if u.other != nil {
		cpu, err := u.other.CPU()
		return bench.Counters{Server: &cpu}, err
	}
	used, err := u.peer.Count()
	return used.Counters(load.Verbs{}, u.loop()), err
}

// Row implements bench.Target.
func (u *run) Row(t *bench.Trial) (Row, error) {
	row := Row{
		App: u.c.App, Path: u.c.Path, Fabric: u.c.Fabric, Items: u.items, Window: u.c.Window, Measure: t.Measure(), Edges: u.edges,
	}
	if !u.place.Sharing.Own() {
		row.Placement = u.c.Placement
	}
	return row, u.compare(u, t.Number)
}

// Blame implements bench.Target.
func (u *run) Blame(err error) error {
	if u.other != nil {
		return u.other.Blame(err)
	}
	return u.peer.Blame(err)
}

// Close implements bench.Target.
func (u *run) Close() error {
	return errors.Join(bench.Close(u.store), bench.Close(u.cache), bench.Close(u.session), bench.Close(u.client),
		bench.Close(u.dev), bench.Close(u.peer), bench.Close(u.other))
}

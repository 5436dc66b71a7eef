package cache

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/bench/target"

	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/server/text"
)

// other is a server that is asked over a socket: those that Remora is compared with, and Remora
// itself asked by lines.
type other struct {
	*runner
	c      *Case
	place  host.Placement
	server *target.Foreign
	conns  []*target.Pipeline
	shared []sharedClient
	held   *holdings // what it had at the last look; nil: nobody knows
}

func (t *other) open(ctx context.Context) (err error) {
	if t.c.Path == PathText {
		return t.openText(ctx)
	}
	cfg := target.ForeignConfig{
		Program: target.MemcachedProgram(), Network: t.c.Fabric, CPUs: t.place.Server, Threads: t.c.Cores, Memory: t.c.Memory,
	}
	if t.c.Path == PathRedis {
		cfg.Program = target.RedisProgram()
	} else {
		cfg.Args = memcachedArgs(t.c)
	}
	if t.cfg.Server != "" {
		t.server = target.Running(cfg.Program, cfg.Network, t.cfg.Server)
		return nil
	}
	t.server, err = target.StartForeign(ctx, cfg)
	return err
}

// textListen is where a server of Remora that is asked by lines listens.
const textListen = text.Scheme + "://127.0.0.1:0"

func (t *other) openText(ctx context.Context) error {
	t.server = &target.Foreign{Network: target.NetTCP, Address: t.cfg.Server, Version: t.Env.Version}
	if t.cfg.Server != "" {
		return nil
	}
	peer, hello, err := bench.StartPeer(ctx, &t.Env, &t.place, nil, bench.Order[Case]{Case: t.c})
	if peer != nil {
		t.server.Process = peer.Process
	}
	t.server.Address = strings.TrimPrefix(hello.Address, text.Scheme+"://")
	return err
}

// memcachedArgs are what large values and many connections need.
func memcachedArgs(c *Case) (args []string) {
	const (
		defaultItem  = 1 << 20
		defaultConns = 1024
		itemOverhead = 512
		spareConns   = 64
	)
	if item := c.longestValue() + c.longestKey() + itemOverhead; item > defaultItem {
		args = append(args, "-I", strconv.Itoa(item>>20+1)+"m")
	}
	if n := c.callers() + spareConns; n > defaultConns {
		args = append(args, "-c", strconv.Itoa(n))
	}
	return args
}

func (t *other) dial() (*target.Pipeline, error) {
	conn, err := target.DialPipeline(t.server.Network, t.server.Address, t.c.protocol(), t.c.busy())
	if err != nil {
		return nil, t.blame(err)
	}
	return conn, nil
}

func (t *other) loader(context.Context) (load.Worker, func() error, error) {
	conn, err := t.dial()
	if err != nil {
		return nil, nil, err
	}
	c := *t.c
	c.Window, c.Batch = loadWindow(t.c)
	mix := c.mix(t.cfg.Seed)
	return newDriver(newPipelineLane(conn, c.most()), &c, mix.All()), conn.Close, nil
}

func (t *other) workers(context.Context) (out []load.Worker, err error) {
	mix := t.mixOf(t.c)
	for range t.c.Clients {
		if t.c.Goroutines != 0 {
			c := newSharedClient(t.server, t.c)
			t.shared = append(t.shared, c)
			for range t.c.Goroutines {
				out = append(out, newCaller(c, t.c, mix.Stream(t.number(len(out)))))
			}
			continue
		}
		conn, err := t.dial()
		if err != nil {
			return nil, fmt.Errorf("connection %d of %d: %w", len(t.conns)+1, t.c.Clients, err)
		}
		t.conns = append(t.conns, conn)
		out = append(out, t.newPaced(newPipelineLane(conn, t.c.most()), t.c, mix.Stream(t.number(len(out))), len(out)))
	}
	return out, nil
}

func (t *other) address() string  { return t.server.Address }
func (*other) connected() error   { return nil }
func (*other) posted() load.Verbs { return load.Verbs{} }

func (t *other) look(ctx context.Context) (bench.Counters, error) {
	if t.c.Path != PathText {
		held, err := t.server.Holdings(ctx)
		if err != nil {
			return bench.Counters{}, t.blame(err)
		}
		t.held = &holdings{held.Items, held.Bytes}
	}
	cpu, err := t.server.CPU()
	return bench.Counters{Server: &cpu}, err
}

func (t *other) describe(row *Row) {
	row.ServerVersion, row.Client = t.server.Version, clientPipeline
	if t.held != nil {
		t.held.describe(row)
	}
	if t.c.Goroutines != 0 {
		row.Client = sharedName(t.c)
	}
}

func (t *other) pid() int {
	if t.server == nil || t.server.Process == nil {
		return 0
	}
	return t.server.Pid()
}

func (t *other) blame(err error) error { return t.server.Blame(err) }

func (t *other) close() error {
	return errors.Join(bench.CloseAll(t.conns), bench.CloseAll(t.shared), bench.Close(t.server))
}

package cache

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/host"

	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/bench/target"

	"github.com/remora-kv/remora/server/text"
)

// textual is a server of Remora that is asked by lines over plain TCP, with the client
// that memcached and Redis have.
type textual struct {
	*runner
	c     *Case
	place host.Placement
	peer  *bench.Peer[Case]
	host  string
	conns []*target.Pipeline
}

// textListen is where the server of a trial listens.
const textListen = text.Scheme + "://127.0.0.1:0"

func (t *textual) open(ctx context.Context) (err error) {
	if t.cfg.Server != "" {
		t.host = t.cfg.Server
		return nil
	}
	var hello bench.Answer
	t.peer, hello, err = bench.StartPeer(ctx, &t.Env, &t.place, nil, bench.Order[Case]{Case: t.c})
	t.host = strings.TrimPrefix(hello.Address, text.Scheme+"://")
	return err
}

func (t *textual) dial() (*target.Pipeline, error) {
	conn, err := target.DialPipeline("tcp", t.host, t.c.protocol(), t.c.busy())
	if err != nil {
		return nil, t.blame(err)
	}
	return conn, nil
}

func (t *textual) loader(context.Context) (load.Worker, func() error, error) {
	conn, err := t.dial()
	if err != nil {
		return nil, nil, err
	}
	c := *t.c
	c.Window, c.Batch = loadWindow(t.c)
	mix := c.mix(t.cfg.Seed)
	return newDriver(newPipelineLane(conn, c.most()), &c, mix.All()), conn.Close, nil
}

func (t *textual) workers(context.Context) (out []load.Worker, err error) {
	mix := t.mixOf(t.c)
	for range t.c.Clients {
		conn, err := t.dial()
		if err != nil {
			return nil, fmt.Errorf("connection %d of %d: %w", len(t.conns)+1, t.c.Clients, err)
		}
		t.conns = append(t.conns, conn)
		out = append(out, t.newPaced(newPipelineLane(conn, t.c.most()), t.c, mix.Stream(t.number(len(out))), len(out)))
	}
	return out, nil
}

func (t *textual) address() string  { return t.host }
func (*textual) connected() error   { return nil }
func (*textual) posted() load.Verbs { return load.Verbs{} }

func (t *textual) look(context.Context) (bench.Counters, error) {
	cpu, err := t.peer.CPU()
	return bench.Counters{Server: &cpu}, err
}

func (t *textual) describe(row *Row) {
	row.ServerVersion, row.Client = t.Env.Version, clientPipeline
}

func (t *textual) pid() int {
	if t.peer == nil {
		return 0
	}
	return t.peer.Pid()
}

func (t *textual) blame(err error) error {
	if t.peer == nil {
		return err
	}
	return t.peer.Blame(err)
}

func (t *textual) close() error {
	var errs []error
	for _, c := range t.conns {
		errs = append(errs, c.Close())
	}
	if t.peer != nil {
		errs = append(errs, t.peer.Close())
	}
	return errors.Join(errs...)
}

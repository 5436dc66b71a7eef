package cache

import (
	"context"
	"errors"
	"time"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/load"
)

// null is the server whose answers cost nothing (C14): what is measured is the generator.
type null struct {
	*runner
	c     *Case
	lanes []*nullLane
}

func (t *null) open(context.Context) error { return nil }

// loader has nothing to do: the null server has every key.
func (t *null) loader(context.Context) (load.Worker, func() error, error) {
	return nil, func() error { return nil }, nil
}

func (t *null) workers(context.Context) (out []load.Worker, err error) {
	mix := t.mixOf(t.c)
	if t.c.Goroutines != 0 {
		for range t.c.callers() {
			out = append(out, newNullCaller(t.c, mix.Stream(t.number(len(out)))))
		}
		return out, nil
	}
	for range t.c.Clients {
		l, err := newNullLane(t.c)
		if err != nil {
			return nil, err
		}
		t.lanes = append(t.lanes, l)
		out = append(out, t.newPaced(l, t.c, mix.Stream(t.number(len(out))), len(out)))
	}
	return out, nil
}

func (*null) address() string    { return "" }
func (*null) connected() error   { return nil }
func (*null) pid() int           { return 0 }
func (*null) posted() load.Verbs { return load.Verbs{} }

func (*null) look(context.Context) (bench.Counters, error) {
	return bench.Counters{Server: new(time.Duration)}, nil
}

func (t *null) describe(row *Row) {
	row.ServerVersion, row.Client, row.Cores, row.Memory = t.Env.Version, clientNull, 0, 0
}

func (t *null) blame(err error) error { return err }

func (t *null) close() error {
	var errs []error
	for _, l := range t.lanes {
		errs = append(errs, l.memory.Free())
	}
	return errors.Join(errs...)
}

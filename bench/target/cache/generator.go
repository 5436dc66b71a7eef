package cache

import (
	"context"
	"errors"
	"time"

	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/bench/load"
)

const (
	// aloneTime is how long the generator is measured, and aloneTries how often: the best
	// counts, for whatever disturbs it only makes it slower.
	aloneTime  = 8 * time.Millisecond
	aloneTries = 3
)

// generator returns how many operations a second one thread does with the load of a case
// where the server costs nothing (C14): measured once for every kind of load, in 30 ms. 0 where
// nobody wants to know, and of a trace, whose reading cannot be told from the file.
func (r *runner) generator(ctx context.Context, c *Case, p host.Placement) (rate float64, err error) {
	if r.cfg.NoGenerator || c.Path == PathNull || c.Trace != "" {
		return 0, nil
	}
	one := c.oneThread()
	if rate, ok := r.alone[one]; ok {
		return rate, nil
	}
	n := &null{runner: r, c: &one}
	defer func() { err = errors.Join(err, n.close()) }()
	workers, err := n.workers(ctx)
	if err != nil {
		return 0, err
	}
	for range 1 + aloneTries { // the first warms up
		b := load.Budget{Time: aloneTime, Every: load.SampleEvery}
		sum, err := load.Run(ctx, workers, b, r.Scale, load.PinInTurn(p.Client))
		if err != nil {
			return 0, err
		}
		rate = max(rate, sum.Rate(r.Scale))
	}
	r.alone[one] = rate
	return rate, nil
}

// oneThread is the load of one thread of a case, whatever the target.
func (k *Case) oneThread() Case {
	one := k.load()
	one.Path, one.Window, one.Batch, one.Clients = PathNull, k.Window, k.Batch, 1
	one.Goroutines = min(k.Goroutines, 1)
	one.Rate, one.Fill, one.Cache, one.Memory, one.Cores = 0, false, 0, 0, 0
	one.Placement = ""
	return one
}

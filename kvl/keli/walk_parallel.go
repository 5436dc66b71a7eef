package keli

import (
	"context"
	"errors"
	"fmt"
)

// WalkParallel is Walk by several workers, one for each function of visits. Only its own worker
// calls a function, so the function needs no locks for what it collects. The items of a level are
// visited concurrently in any order, and those of the next level after all of them. The first
// worker is the caller's goroutine, which visits small levels alone.
//
// Each worker has a session. If the client has no more to spare (WithSessions), or the server
// accepts no more connections, there are fewer workers, and the last functions are not called.
// A Mixed walk can have only one worker, or the error is ErrInvalid.
func (c *Client) WalkParallel(ctx context.Context, cfg WalkConfig, visits ...Visit) (WalkResult, error) {
	if err := cfg.validate(); err != nil {
		return WalkResult{}, err
	}
	if len(visits) == 0 || cfg.Mixed && len(visits) > 1 {
		return WalkResult{}, fmt.Errorf("%w: %d visit functions: a walk needs at least one, and a mixed walk takes only one", ErrInvalid, len(visits))
	}
	if len(visits) == 1 {
		return c.Walk(ctx, cfg, visits[0])
	}
	s, err := c.sessionForRoots(ctx, &cfg)
	if err != nil {
		return WalkResult{}, err
	}
	defer c.give(s)
	g := &group{cfg: &cfg}
	defer g.stop() // also when a function of the caller panics
	g.add(newWalk(s, &cfg, visits[0]), nil)
	err = g.walks[0].begin(ctx)
	if err == nil {
		g.walks[0].visited.shared = true
		err = g.addWorkers(ctx, c, visits[1:])
	}
	if err == nil {
		err = g.run(ctx)
	}
	return g.result(), err
}

// group is the workers of a walk. Each has a session and queues of its own. They share the bits of
// the places that were visited: the worker that sets a bit queues the item. Between two levels the
// queued items are divided evenly.
type group struct {
	cfg      *WalkConfig
	walks    []*walk // the first is the caller's
	admitted int     // items that were given to workers
	cut      bool
	workerPool
}

// worker is the state of a walk that belongs to a group.
type worker struct {
	group *group
	index int
	err   error // of its part of a level
}

// errHalted ends a worker when another one has failed.
var errHalted = errors.New("keli: another worker has failed")

// add adds a worker. cleanup, if not nil, is called when the group stops.
func (g *group) add(w *walk, cleanup func()) {
	w.worker = &worker{group: g, index: len(g.walks)}
	w.level = -1 // run descends to the roots
	g.walks = append(g.walks, w)
	g.onStop(cleanup)
}

// addWorkers adds a worker for each visit, as long as the client has sessions for them.
func (g *group) addWorkers(ctx context.Context, c *Client, visits []Visit) error {
	lead := g.walks[0]
	for _, visit := range visits {
		s := c.spare()
		if s == nil {
			break
		}
		s.adopt(lead.s.snapshot)
		if err := s.connect(ctx); err != nil {
			c.give(s)
			c.log().Debug("walk runs with fewer workers", "workers", len(g.walks), "wanted", len(visits)+1, "err", err)
			break
		}
		w := newWalk(s, g.cfg, visit)
		w.attrs, w.visited = lead.attrs, lead.visited
		g.add(w, func() { c.give(s) })
	}
	return g.start(c.device, c.opts.policy)
}

// minItemsPerWorker is the size of a share that is worth waking a worker for.
const minItemsPerWorker = 32

// run walks from the roots that the first worker has found.
func (g *group) run(ctx context.Context) error {
	lead := g.walks[0]
	lead.now, lead.later = lead.later, lead.now
	for n := g.descend(); n != 0; n = g.descend() {
		if n < minItemsPerWorker*len(g.walks) {
			g.balance(n, 1)
			lead.readPart(ctx)
		} else {
			g.balance(n, len(g.walks))
			g.runAll(func(w *walk) { w.readPart(ctx) })
		}
		if err := g.firstError(); err != nil {
			return err
		}
	}
	return nil
}

// readPart visits a worker's share of a level.
func (w *walk) readPart(ctx context.Context) {
	if w.worker.err = w.runLevel(ctx); w.worker.err != nil {
		w.worker.group.halted.Store(true)
	}
}

// descend moves all workers to the next level, and returns how many items it has.
func (g *group) descend() (items int) {
	for _, w := range g.walks {
		w.descend()
		if left := g.cfg.MaxItems - g.admitted; g.cfg.MaxItems != 0 && w.now.count > left {
			w.now.count, g.cut = left, true
		}
		g.admitted += w.now.count
		items += w.now.count
	}
	return items
}

// balance moves items between workers until the first ones have equal shares of a level, give or
// take one, and the others have none.
func (g *group) balance(items, workers int) {
	share := func(i int) int {
		if i >= workers {
			return 0
		}
		return (items + workers - 1 - i) / workers
	}
	for to, from := 0, 0; ; {
		for to < len(g.walks) && g.walks[to].now.count >= share(to) {
			to++
		}
		for from < len(g.walks) && g.walks[from].now.count <= share(from) {
			from++
		}
		if to == len(g.walks) || from == len(g.walks) {
			return
		}
		g.walks[to].now.push(g.walks[from].now.pop())
	}
}

// firstError returns the error of a worker that failed, rather than of one that was halted.
func (g *group) firstError() (err error) {
	for _, w := range g.walks {
		if e := w.worker.err; e != nil && (err == nil || errors.Is(err, errHalted)) {
			err = e
		}
	}
	return err
}

// result adds up what the workers have done.
func (g *group) result() (sum WalkResult) {
	sum.Generation, sum.Cut = g.walks[0].s.Generation(), g.cut
	for _, w := range g.walks {
		sum.Items += w.result.Items
		sum.Depth = max(sum.Depth, w.result.Depth)
	}
	return sum
}

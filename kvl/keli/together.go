package keli

import (
	"context"
	"errors"
	"fmt"
)

// WalkTogether is Walk by several workers, one for each function of visits: a function is
// called by its own worker only, one item after the other, so that it may keep what it
// learns without locks. Items of a level are visited in any order and at the same
// time, and those of the next one when all of them have been. The first worker is the
// caller's goroutine, and does levels alone in which there is little.
//
// Each worker has a session. Where the client has none to spare (WithSessions), or a server
// takes no more connections, there are fewer workers, and the last functions are not called.
// A Mixed walk has one worker: more are ErrInvalid.
func (c *Client) WalkTogether(ctx context.Context, cfg WalkConfig, visits ...Visit) (Walked, error) {
	if err := cfg.validate(); err != nil {
		return Walked{}, err
	}
	if len(visits) == 0 || cfg.Mixed && len(visits) > 1 {
		return Walked{}, fmt.Errorf("%w: %d workers on a walk; it has at least one, and one only if it is mixed", ErrInvalid, len(visits))
	}
	if len(visits) == 1 {
		return c.Walk(ctx, cfg, visits[0])
	}
	s, err := c.startOf(ctx, &cfg)
	if err != nil {
		return Walked{}, err
	}
	defer c.give(s)
	t := &team{cfg: &cfg}
	defer t.disband() // also when a function of the caller panics
	t.join(newWalk(s, &cfg, visits[0]), nil)
	err = t.walks[0].begin(ctx)
	if err == nil {
		t.walks[0].places.shared = true
		err = t.recruit(ctx, c, visits[1:])
	}
	if err == nil {
		err = t.run(ctx)
	}
	return t.did(), err
}

// team is the workers of a walk. Each has a session and queues of its own, and they share the
// bits that say which places were visited: who sets one reads the item in the next level.
// Between two levels what they have found is divided among them.
type team struct {
	cfg      *WalkConfig
	walks    []*walk // the first is the caller's
	admitted int     // items that were given to workers
	cut      bool
	roll
}

// worker is what a walk has as one of a team.
type worker struct {
	team *team
	rank int
	err  error // of its part of a level
}

// errHalted ends the part of a worker when another one has failed.
var errHalted = errors.New("keli: another worker has failed")

// join adds a worker.
func (t *team) join(w *walk, leave func()) {
	w.worker = &worker{team: t, rank: len(t.walks)}
	w.level = -1 // the roots are found above the first level
	t.walks = append(t.walks, w)
	t.enlist(leave)
}

// recruit adds a worker for each visit, as long as the client has sessions for them.
func (t *team) recruit(ctx context.Context, c *Client, visits []Visit) error {
	lead := t.walks[0]
	for _, visit := range visits {
		s := c.spare()
		if s == nil {
			break
		}
		s.adopt(lead.s.view)
		if err := s.connect(ctx); err != nil {
			c.give(s)
			c.log().Debug("a walk has fewer workers", "workers", len(t.walks), "wanted", len(visits)+1, "err", err)
			break
		}
		w := newWalk(s, t.cfg, visit)
		w.attrs, w.places = lead.attrs, lead.places
		t.join(w, func() { c.give(s) })
	}
	return t.muster(c.device, c.opts.policy)
}

// aloneItems is how many items of a level are too few for a worker to be called for.
const aloneItems = 32

// run walks, from the roots that the first worker has found.
func (t *team) run(ctx context.Context) error {
	lead := t.walks[0]
	lead.now, lead.later = lead.later, lead.now
	for n := t.descend(); n != 0; n = t.descend() {
		if n < aloneItems*len(t.walks) {
			t.divide(n, 1)
			lead.readPart(ctx)
		} else {
			t.divide(n, len(t.walks))
			t.all(func(w *walk) { w.readPart(ctx) })
		}
		if err := t.verdict(); err != nil {
			return err
		}
	}
	return nil
}

// readPart visits the items of a level that are a worker's.
func (w *walk) readPart(ctx context.Context) {
	if w.worker.err = w.runLevel(ctx); w.worker.err != nil {
		w.worker.team.halted.Store(true)
	}
}

// descend goes on with the next level, and returns how many items it has.
func (t *team) descend() (items int) {
	for _, w := range t.walks {
		w.descend()
		if left := t.cfg.MaxItems - t.admitted; t.cfg.MaxItems != 0 && w.now.count > left {
			w.now.count, t.cut = left, true
		}
		t.admitted += w.now.count
		items += w.now.count
	}
	return items
}

// divide has the first workers share the items of a level, of which each has the same number or one
// more; the others have none.
func (t *team) divide(items, workers int) {
	share := func(i int) int {
		if i >= workers {
			return 0
		}
		return (items + workers - 1 - i) / workers
	}
	for poor, rich := 0, 0; ; {
		for poor < len(t.walks) && t.walks[poor].now.count >= share(poor) {
			poor++
		}
		for rich < len(t.walks) && t.walks[rich].now.count <= share(rich) {
			rich++
		}
		if poor == len(t.walks) || rich == len(t.walks) {
			return
		}
		t.walks[poor].now.push(t.walks[rich].now.pop())
	}
}

// verdict returns why the walk cannot go on.
func (t *team) verdict() (err error) {
	for _, w := range t.walks {
		if e := w.worker.err; e != nil && (err == nil || errors.Is(err, errHalted)) {
			err = e
		}
	}
	return err
}

// did is what the workers have done.
func (t *team) did() (sum Walked) {
	sum.Generation, sum.Cut = t.walks[0].s.Generation(), t.cut
	for _, w := range t.walks {
		sum.Items += w.did.Items
		sum.Depth = max(sum.Depth, w.did.Depth)
	}
	return sum
}

package keli

import (
	"context"
	"errors"
	"fmt"

	"github.com/remora-kv/remora/kvl"
)

// WalkTogether is Walk by several workers, one for each function of visits: a function is
// called by its own worker only, one item after the other, so that it may keep what it
// learns without locks. Items of a level are visited in any order and at the same
// time, and those of the next one when all of them have been. The first worker is the
// caller's goroutine.
//
// Each worker has a session. Where the client has none to spare (WithSessions), or a server
// takes no more connections, there are fewer workers, and the last functions are not called.
// A walk that is Mixed has one worker.
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
		err = t.recruit(ctx, c, visits[1:])
	}
	if err == nil {
		err = t.run(ctx)
	}
	return t.did(), err
}

// team is the workers of a walk. Each has a session, queues and bits of its own. A place of
// the image has an owner among them, who knows whether it was visited; the others know
// whether they have told the owner of it. At the end of a level everybody tells the owners
// what was found, and those look what of it is new. So workers share nothing, but between
// the parts of a level, when one looks at what another has written.
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
	mail []queue // by rank: what this worker tells others
	err  error   // of its part of a level
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
		w.attrs = lead.attrs
		w.places.reset(s.view.areas)
		t.join(w, func() { c.give(s) })
	}
	for _, w := range t.walks {
		w.worker.mail = make([]queue, len(t.walks))
		for i := range w.worker.mail {
			w.worker.mail[i].pool = &w.pool
		}
	}
	return t.muster(c.device, c.opts.policy)
}

// aloneItems is how many items of a level are too few for a worker to be called for.
const aloneItems = 32

// run walks, from the roots that the first worker has found.
func (t *team) run(ctx context.Context) error {
	lead := t.walks[0]
	lead.now, lead.later = lead.later, lead.now
	lead.tell()
	t.hear()
	for n := t.descend(); n != 0; n = t.descend() {
		level := t.jointly
		if n < aloneItems*len(t.walks) {
			level = t.alone
		}
		if err := level(ctx); err != nil {
			return err
		}
	}
	return nil
}

// jointly has all workers do a level.
func (t *team) jointly(ctx context.Context) error {
	t.all(func(w *walk) { w.readPart(ctx) })
	if err := t.verdict(); err != nil {
		return err
	}
	t.all((*walk).hear)
	return nil
}

// readPart visits the items of a level that a worker owns, and tells what it has found.
func (w *walk) readPart(ctx context.Context) {
	if w.worker.err = w.runLevel(ctx); w.worker.err != nil {
		w.worker.team.halted.Store(true)
		return
	}
	w.tell()
}

// alone has the first worker do a level in which there is little, while the others wait.
func (t *team) alone(ctx context.Context) error {
	lead := t.walks[0]
	for _, w := range t.walks[1:] {
		for w.now.count != 0 {
			lead.now.push(w.now.pop())
		}
	}
	if lead.readPart(ctx); lead.worker.err != nil {
		return lead.worker.err
	}
	t.hear()
	return nil
}

// hear has all workers hear, one after the other.
func (t *team) hear() {
	for _, w := range t.walks {
		w.hear()
	}
}

// tell sorts what a level has found by owner.
func (w *walk) tell() {
	found := w.later
	w.later = queue{pool: &w.pool}
	for found.count != 0 {
		l := found.pop()
		if owner := w.owner(l); owner == w.worker.rank {
			w.later.push(l)
		} else {
			w.worker.mail[owner].push(l)
		}
	}
	found.clear()
}

// ownedShift makes 16 KiB of an area have one owner: those are a cache line of bits.
const ownedShift = 9

// owner returns the rank of the owner of a place. One that has no number is of who found
// it, who will be told that it is not there.
func (w *walk) owner(l kvl.Link) int {
	n, ok := w.places.number(l)
	if !ok {
		return w.worker.rank
	}
	mixed := n >> ownedShift * 0x9e3779b97f4a7c15 >> 32
	return int(mixed * uint64(len(w.worker.mail)) >> 32)
}

// hear queues what is new of what others have told. It leaves their memory as it is: they
// take it back themselves.
func (w *walk) hear() {
	for _, other := range w.worker.team.walks {
		for b := other.worker.mail[w.worker.rank].first; b != nil; b = b.next {
			for links := b.links[:b.used]; len(links) != 0; {
				part := links[:min(len(links), sieveLinks)]
				w.siftPart(&w.later, part)
				links = links[len(part):]
			}
		}
	}
}

// descend goes on with the next level, and returns how many items it has.
func (t *team) descend() (items int) {
	for _, w := range t.walks {
		for i := range w.worker.mail {
			w.worker.mail[i].clear()
		}
		w.descend()
		if left := t.cfg.MaxItems - t.admitted; t.cfg.MaxItems != 0 && w.now.count > left {
			w.now.count, t.cut = left, true
		}
		t.admitted += w.now.count
		items += w.now.count
	}
	return items
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

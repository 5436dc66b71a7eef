package keli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/remora-kv/remora/kvl"
)

// WalkConfig says where a walk begins and how far it goes.
type WalkConfig struct {
	// Keys and Links are the roots. With keys alone a walk is in the current generation, with
	// links in theirs. A key without an item is ErrNotFound.
	Keys  [][]byte
	Links []kvl.Link
	// Attrs names the attributes whose links are followed; nil means all of them.
	Attrs []string
	// MaxDepth is how many links an item can be away from a root; 0 means any number.
	// MaxItems is how many items are visited; 0 means all.
	MaxDepth, MaxItems int
	// Mixed lets a walk go on when its generation is over: links that were not followed are
	// looked for again in the new one, by the keys of the items that have them. Items
	// are then told apart by their keys, which it remembers.
	Mixed bool
	// Schema, when not nil, is told the names of the walk's generation before its first item
	// is visited, and those of another one when a mixed walk moves on.
	Schema func(*kvl.Schema)
}

// Visit is shown an item and how many links it is away from a root. It says whether the
// item's links are followed. An error ends the walk. It must not call the session.
type Visit func(item kvl.Item, depth int) (follow bool, err error)

// Walked is what a walk has done.
type Walked struct {
	// Generation is the one that it was in; of a mixed one, the last.
	Generation uint64
	// Items were visited, the last of them at Depth.
	Items, Depth int
	// Cut says that there was more than MaxItems.
	Cut bool
	// Moves is how often a mixed walk went on in another generation.
	Moves int
}

// Walk visits items breadth first: the roots, the items behind their links, those behind
// the links of these, each once, whatever cycles there are. READs go ahead of the visits, as
// many as the window allows.
//
// All items are of one generation, or the walk fails with ErrGenerationOver, unless it is Mixed.
func (s *Session) Walk(ctx context.Context, cfg WalkConfig, visit Visit) (Walked, error) {
	if err := s.enter(); err != nil {
		return Walked{}, err
	}
	if err := cfg.validate(); err != nil {
		return Walked{}, err
	}
	w := newWalk(s, &cfg, visit)
	if cfg.Mixed {
		w.memory = &memory{seen: map[string]struct{}{}}
	}
	err := w.run(ctx)
	w.did.Generation = s.Generation()
	return w.did, err
}

func (cfg *WalkConfig) validate() error {
	if cfg.MaxDepth < 0 || cfg.MaxItems < 0 {
		return fmt.Errorf("%w: a walk of depth %d with %d items", ErrInvalid, cfg.MaxDepth, cfg.MaxItems)
	}
	return nil
}

// walk is a walk under way, or what one worker does of it.
type walk struct {
	s      *Session
	cfg    *WalkConfig
	visit  Visit
	attrs  []uint16 // to follow, by rising number; nil all
	places *visited
	sieve  sieve
	queued int // items that were noted in places

	level  int
	pool   blocks
	now    queue   // items of this level that were not asked for
	chunks queue   // of lists of items of this level, likewise
	later  queue   // items of the next level
	memory *memory // of a mixed walk
	worker *worker // of a walk with several
	did    Walked
}

func newWalk(s *Session, cfg *WalkConfig, visit Visit) *walk {
	w := &walk{s: s, cfg: cfg, visit: visit}
	w.now.pool, w.chunks.pool, w.later.pool = &w.pool, &w.pool, &w.pool
	return w
}

// errCut ends a walk that has visited all that it may.
var errCut = errors.New("keli: enough")

func (w *walk) run(ctx context.Context) error {
	err := w.begin(ctx)
	for {
		for err == nil && w.now.count+w.chunks.count+w.later.count != 0 {
			if err = w.runLevel(ctx); err == nil {
				w.descend()
			}
		}
		if w.memory == nil || !errors.Is(err, ErrGenerationOver) || w.did.Moves == maxMoves {
			break
		}
		err = w.moveOn(ctx)
	}
	if errors.Is(err, errCut) {
		w.did.Cut = true
		return nil
	}
	return err
}

// begin finds the roots.
func (w *walk) begin(ctx context.Context) error {
	if len(w.cfg.Links) == 0 {
		if err := w.s.refresh(ctx); err != nil {
			return err
		}
	} else if err := w.s.ready(ctx); err != nil {
		return err
	}
	w.learnNames()
	w.places = newVisited(w.s.view.areas)
	for _, l := range w.cfg.Links {
		w.push(&w.now, l)
	}
	return w.lookRoots(ctx)
}

// lookRoots looks for the roots that are keys.
func (w *walk) lookRoots(ctx context.Context) error {
	for _, key := range w.cfg.Keys {
		l, err := w.find(ctx, key)
		if err != nil {
			return err
		}
		w.push(&w.now, l)
	}
	return nil
}

// find returns the link to a key in the generation of the walk.
func (w *walk) find(ctx context.Context, key []byte) (kvl.Link, error) {
	v := w.s.view
	a, err := w.s.ask(ctx, v.generation, key)
	switch {
	case err != nil:
		return kvl.Link{}, err
	case a.status == notFound:
		return kvl.Link{}, fmt.Errorf("%w: %.100q in generation %d", ErrNotFound, key, v.generation)
	case a.status == noGeneration || a.generation != v.generation:
		return kvl.Link{}, v.over()
	}
	return a.link, nil
}

// learnNames tells the names of the generation, and looks for the numbers of the attributes
// to follow.
func (w *walk) learnNames() {
	if w.cfg.Schema != nil {
		w.cfg.Schema(w.s.view.schema)
	}
	if w.cfg.Attrs == nil {
		return
	}
	w.attrs = []uint16{}
	for _, name := range w.cfg.Attrs {
		if n, ok := w.s.view.schema.Number(name); ok {
			w.attrs = append(w.attrs, n)
		}
	}
	slices.Sort(w.attrs)
}

// push queues an item, unless it was before or is more than the walk may visit.
func (w *walk) push(to *queue, l kvl.Link) {
	if l.IsZero() || !w.places.add(l) {
		return
	}
	if w.most(1) != 0 {
		w.queued++
		to.push(l)
	}
}

// most returns how many of n new items are queued. A mixed walk may find that some of its
// items are not new, so it counts when it visits; a worker does not know what others have
// found, so its team counts.
func (w *walk) most(n int) int {
	if w.memory != nil || w.worker != nil || w.cfg.MaxItems == 0 || n <= w.cfg.MaxItems-w.queued {
		return n
	}
	w.did.Cut = true
	return w.cfg.MaxItems - w.queued
}

// descend goes on with the next level.
func (w *walk) descend() {
	w.now.clear()
	w.now, w.later = w.later, w.now
	w.level++
	if w.memory != nil {
		w.memory.descend()
	}
}

// runLevel visits the items of a level. Chunks of lists are read at the level of their item,
// so that none of the next one comes before they have all been read.
func (w *walk) runLevel(ctx context.Context) error {
	f := &w.s.flight
	if err := w.s.ready(ctx); err != nil {
		return err
	}
	f.begin()
	defer f.end(ctx)
	for {
		if w.worker != nil && w.worker.team.halted.Load() {
			return errHalted
		}
		if f.hungry() {
			w.ask(f)
		}
		if f.count == 0 {
			w.sift(&w.later, 0)
			return nil
		}
		rec, err := f.next(ctx)
		if err != nil {
			return err
		}
		if err := w.arrived(rec); err != nil {
			return err
		}
	}
}

// ask asks for as much as there is room for. Chunks come first: they are behind their item,
// which was just read.
func (w *walk) ask(f *flight) {
	for !f.full() {
		switch {
		case w.chunks.count != 0:
			f.ask(wanted{link: w.chunks.pop(), chunk: true})
		case w.now.count != 0:
			f.ask(wanted{link: w.now.pop()})
		default:
			return
		}
	}
}

// arrived deals with a record.
func (w *walk) arrived(rec *record) error {
	if rec.chunk {
		w.sieve.links = rec.links.Append(w.sieve.links)
		w.sift(&w.later, sieveLinks)
		return w.chunk(rec.links.Next())
	}
	if w.memory != nil && !w.memory.isNew(rec.item.Key()) {
		return nil
	}
	if w.cfg.MaxItems != 0 && w.did.Items == w.cfg.MaxItems {
		return errCut
	}
	w.did.Items, w.did.Depth = w.did.Items+1, w.level
	follow, err := w.show(rec.item)
	if err != nil || !follow || w.cfg.MaxDepth != 0 && w.level >= w.cfg.MaxDepth {
		return err
	}
	if w.memory != nil {
		w.memory.followed(rec.item.Key())
	}
	return w.expand(rec.item, &w.later)
}

func (w *walk) show(item kvl.Item) (bool, error) {
	w.s.busy = true
	defer func() { w.s.busy = false }()
	return w.visit(item, w.level)
}

// chunk queues a chunk, which is read once: Builders share none.
func (w *walk) chunk(l kvl.Link) error {
	if l.IsZero() {
		return nil
	}
	if !w.places.add(l) {
		return fmt.Errorf("keli: two lists go on at %v: %w", l, kvl.ErrCorrupt)
	}
	w.chunks.push(l)
	return nil
}

// expand queues what is behind the links of an item, the last of it when sift is called
// next. Chunks are always for this level.
func (w *walk) expand(item kvl.Item, to *queue) error {
	for a := range item.Attrs() {
		if w.attrs != nil && !slices.Contains(w.attrs, a.Name) {
			continue
		}
		switch a.Kind {
		case kvl.KindLink:
			w.sieve.links = append(w.sieve.links, a.Link())
		case kvl.KindList:
			list := a.List()
			w.sieve.links = list.Append(w.sieve.links)
			if err := w.chunk(list.Next()); err != nil {
				return err
			}
		default: // bytes, or what this reader does not know
		}
	}
	w.sift(to, sieveLinks)
	return nil
}

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
	// Keys and Links are the roots. A walk from keys alone is in the current generation, one
	// from links in theirs. A key without an item is ErrNotFound.
	Keys  [][]byte
	Links []kvl.Link
	// Attrs names the attributes whose links are followed; nil means all of them.
	Attrs []string
	// MaxDepth bounds the number of links from a root to an item, and MaxItems the number of items
	// that are visited; 0 means no bound.
	MaxDepth, MaxItems int
	// Mixed lets a walk continue in the next generation when its own is over. It finds the links
	// that it has not followed again by the keys of the items that have them. It remembers all
	// keys, so that it visits no item twice.
	Mixed bool
	// Schema, if not nil, is called with the names of the walk's generation before the first item
	// is visited, and with those of the next one when a mixed walk moves to it.
	Schema func(*kvl.Schema)
}

// Visit is called with an item and the number of links from a root to it. It returns whether to
// follow the item's links. An error ends the walk. It must not call the session.
type Visit func(item kvl.Item, depth int) (follow bool, err error)

// WalkResult describes a walk.
type WalkResult struct {
	// Generation is the generation of the items; of a mixed walk, the last one.
	Generation uint64
	// Items is the number of items that were visited, and Depth the depth of the deepest.
	Items, Depth int
	// Cut says that MaxItems ended the walk.
	Cut bool
	// Moves is how often a mixed walk moved to another generation.
	Moves int
}

// Walk visits items breadth first, each once: the roots, the items behind their links, the items
// behind the links of these, and so on. As many READs are in flight as the window allows.
//
// All items are of one generation. If that is over before the walk ends, the walk fails with
// ErrGenerationOver, unless it is Mixed.
func (s *Session) Walk(ctx context.Context, cfg WalkConfig, visit Visit) (WalkResult, error) {
	if err := s.enter(); err != nil {
		return WalkResult{}, err
	}
	if err := cfg.validate(); err != nil {
		return WalkResult{}, err
	}
	w := newWalk(s, &cfg, visit)
	if cfg.Mixed {
		w.mixed = &mixedState{seen: map[string]struct{}{}}
	}
	err := w.run(ctx)
	w.result.Generation = s.Generation()
	return w.result, err
}

func (cfg *WalkConfig) validate() error {
	if cfg.MaxDepth < 0 || cfg.MaxItems < 0 {
		return fmt.Errorf("%w: MaxDepth of %d and MaxItems of %d, must not be negative", ErrInvalid, cfg.MaxDepth, cfg.MaxItems)
	}
	return nil
}

// walk is the state of a walk, or of one worker of a parallel walk.
type walk struct {
	s          *Session
	cfg        *WalkConfig
	fn         Visit
	attrs      []uint16 // to follow, sorted; nil: all
	visited    *visited
	candidates candidates
	queued     int // items that were added to visited

	level  int
	pool   blocks
	now    queue       // items of this level, not requested yet
	chunks queue       // chunks of lists of this level, not requested yet
	later  queue       // items of the next level
	mixed  *mixedState // of a mixed walk
	worker *worker     // of a parallel walk
	result WalkResult
}

func newWalk(s *Session, cfg *WalkConfig, visit Visit) *walk {
	w := &walk{s: s, cfg: cfg, fn: visit}
	w.now.pool, w.chunks.pool, w.later.pool = &w.pool, &w.pool, &w.pool
	return w
}

// errCut ends a walk that has visited MaxItems.
var errCut = errors.New("keli: MaxItems reached")

func (w *walk) run(ctx context.Context) error {
	err := w.begin(ctx)
	for {
		for err == nil && w.now.count+w.chunks.count+w.later.count != 0 {
			if err = w.runLevel(ctx); err == nil {
				w.descend()
			}
		}
		if w.mixed == nil || !errors.Is(err, ErrGenerationOver) || w.result.Moves == maxMoves {
			break
		}
		err = w.moveOn(ctx)
	}
	if errors.Is(err, errCut) {
		w.result.Cut = true
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
	w.visited = newVisited(w.s.snapshot.areas)
	for _, l := range w.cfg.Links {
		w.push(&w.now, l)
	}
	return w.lookRoots(ctx)
}

// lookRoots looks up the roots that are keys.
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
	v := w.s.snapshot
	a, err := w.s.ask(ctx, v.generation, key)
	switch {
	case err != nil:
		return kvl.Link{}, err
	case a.status == notFound:
		return kvl.Link{}, fmt.Errorf("%w: %.100q in generation %d", ErrNotFound, key, v.generation)
	case a.status == noGeneration || a.generation != v.generation:
		return kvl.Link{}, v.expired()
	}
	return a.link, nil
}

// learnNames reports the names of the generation, and finds the numbers of the attributes to
// follow.
func (w *walk) learnNames() {
	if w.cfg.Schema != nil {
		w.cfg.Schema(w.s.snapshot.schema)
	}
	if w.cfg.Attrs == nil {
		return
	}
	w.attrs = []uint16{}
	for _, name := range w.cfg.Attrs {
		if n, ok := w.s.snapshot.schema.Number(name); ok {
			w.attrs = append(w.attrs, n)
		}
	}
	slices.Sort(w.attrs)
}

// push queues an item, unless it was queued before or exceeds MaxItems.
func (w *walk) push(to *queue, l kvl.Link) {
	if l.IsZero() || !w.visited.add(l) {
		return
	}
	if w.admit(1) != 0 {
		w.queued++
		to.push(l)
	}
}

// admit returns how many of n new items may be queued. A mixed walk may find that some of them are
// not new, so it counts when it visits; a worker does not know what others have found, so its group
// counts.
func (w *walk) admit(n int) int {
	if w.mixed != nil || w.worker != nil || w.cfg.MaxItems == 0 || n <= w.cfg.MaxItems-w.queued {
		return n
	}
	w.result.Cut = true
	return w.cfg.MaxItems - w.queued
}

// descend moves to the next level.
func (w *walk) descend() {
	w.now.clear()
	w.now, w.later = w.later, w.now
	w.level++
	if w.mixed != nil {
		w.mixed.descend()
	}
}

// runLevel visits the items of a level. It also reads the chunks of their lists, so that all items
// of the next level are known at the end.
func (w *walk) runLevel(ctx context.Context) error {
	f := &w.s.pipeline
	if err := w.s.ready(ctx); err != nil {
		return err
	}
	f.begin()
	defer f.end(ctx)
	for {
		if w.worker != nil && w.worker.group.halted.Load() {
			return errHalted
		}
		if f.halfEmpty() {
			w.ask(f)
		}
		if f.count == 0 {
			w.queueNew(&w.later, 0)
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

// ask requests as many records as the pipeline has room for. Chunks come first: they lie behind
// their item, which was just read.
func (w *walk) ask(f *pipeline) {
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

// arrived handles a record.
func (w *walk) arrived(rec *record) error {
	if rec.chunk {
		w.candidates.links = rec.links.Append(w.candidates.links)
		w.queueNew(&w.later, batchLinks)
		return w.chunk(rec.links.Next())
	}
	if w.mixed != nil && !w.mixed.isNew(rec.item.Key()) {
		return nil
	}
	if w.cfg.MaxItems != 0 && w.result.Items == w.cfg.MaxItems {
		return errCut
	}
	w.result.Items, w.result.Depth = w.result.Items+1, w.level
	follow, err := w.show(rec.item)
	if err != nil || !follow || w.cfg.MaxDepth != 0 && w.level >= w.cfg.MaxDepth {
		return err
	}
	if w.mixed != nil {
		w.mixed.followed(rec.item.Key())
	}
	return w.expand(rec.item, &w.later)
}

func (w *walk) show(item kvl.Item) (bool, error) {
	w.s.busy = true
	defer func() { w.s.busy = false }()
	return w.fn(item, w.level)
}

// chunk queues a chunk. No two lists share one.
func (w *walk) chunk(l kvl.Link) error {
	if l.IsZero() {
		return nil
	}
	if !w.visited.add(l) {
		return fmt.Errorf("keli: two lists share the chunk at %v: %w", l, kvl.ErrCorrupt)
	}
	w.chunks.push(l)
	return nil
}

// expand queues the links of an item. The last of them may be left for the next call of queueNew.
// Chunks always belong to this level.
func (w *walk) expand(item kvl.Item, to *queue) error {
	for a := range item.Attrs() {
		if w.attrs != nil && !slices.Contains(w.attrs, a.Name) {
			continue
		}
		switch a.Kind {
		case kvl.KindLink:
			w.candidates.links = append(w.candidates.links, a.Link())
		case kvl.KindList:
			list := a.List()
			w.candidates.links = list.Append(w.candidates.links)
			if err := w.chunk(list.Next()); err != nil {
				return err
			}
		default: // bytes, or a kind of a later format
		}
	}
	w.queueNew(to, batchLinks)
	return nil
}

package keli

import (
	"context"
	"errors"
	"fmt"
)

// maxMoves bounds how often a mixed walk moves to another generation.
const maxMoves = 1000

// mixedState is what a mixed walk needs to continue in another generation.
type mixedState struct {
	seen    map[string]struct{} // keys of the visited items
	parents [][]byte            // keys of items of the level before whose links were followed
	done    [][]byte            // keys of items of this level whose links are to be followed
}

// isNew adds an item, and reports whether it was not visited before.
func (m *mixedState) isNew(key []byte) bool {
	if _, ok := m.seen[string(key)]; ok {
		return false
	}
	m.seen[string(key)] = struct{}{}
	return true
}

func (m *mixedState) followed(key []byte) { m.done = append(m.done, append([]byte(nil), key...)) }

func (m *mixedState) descend() { m.parents, m.done = m.done, nil }

// moveOn continues the walk in the current generation. The links of the parents are this level
// again, and the links of the items that were visited at this level are the next one.
func (w *walk) moveOn(ctx context.Context) error {
	w.result.Moves++
	if w.level == 0 && len(w.cfg.Links) != 0 {
		return fmt.Errorf("a walk cannot find roots again that are links: %w", w.s.snapshot.expired())
	}
	if err := w.s.refresh(ctx); err != nil {
		return err
	}
	w.learnNames()
	w.visited = newVisited(w.s.snapshot.areas)
	w.now.clear()
	w.chunks.clear()
	w.later.clear()
	w.candidates.links = w.candidates.links[:0]
	if w.level == 0 {
		if err := w.lookRoots(ctx); err != nil {
			return err
		}
	}
	if err := w.expandKeys(ctx, w.mixed.parents, &w.now); err != nil {
		return err
	}
	return w.expandKeys(ctx, w.mixed.done, &w.later)
}

// expandKeys queues the links of those items that still exist.
func (w *walk) expandKeys(ctx context.Context, keys [][]byte, to *queue) error {
	for _, key := range keys {
		l, err := w.find(ctx, key)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		item, err := w.s.follow(ctx, l)
		if err != nil {
			return err
		}
		if err := w.expand(item, to); err != nil {
			return err
		}
		w.queueNew(to, 0)
		if err := w.expandChunks(ctx, to); err != nil {
			return err
		}
	}
	return nil
}

// expandChunks reads the queued chunks and those that follow them, and queues their links: the
// items of a level have to be known before it continues.
func (w *walk) expandChunks(ctx context.Context, to *queue) error {
	f := &w.s.pipeline
	for w.chunks.count != 0 {
		f.begin()
		f.ask(wanted{link: w.chunks.pop(), chunk: true})
		rec, err := f.next(ctx)
		if err != nil {
			f.end(ctx)
			return err
		}
		for i := range rec.links.N() {
			w.push(to, rec.links.At(i))
		}
		if err := w.chunk(rec.links.Next()); err != nil {
			return err
		}
	}
	return nil
}

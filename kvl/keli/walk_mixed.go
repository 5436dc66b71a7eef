package keli

import (
	"context"
	"errors"
	"fmt"
)

// maxMoves bounds how often a mixed walk goes on in another generation.
const maxMoves = 1000

// memory is what a mixed walk needs to find its way in another generation.
type memory struct {
	seen    map[string]struct{} // keys of the items that were visited
	parents [][]byte            // keys of items of the level before whose links are this level
	done    [][]byte            // keys of items of this level whose links are the next one
}

// isNew notes an item, and reports whether it was not visited before.
func (m *memory) isNew(key []byte) bool {
	if _, ok := m.seen[string(key)]; ok {
		return false
	}
	m.seen[string(key)] = struct{}{}
	return true
}

func (m *memory) followed(key []byte) { m.done = append(m.done, append([]byte(nil), key...)) }

func (m *memory) descend() { m.parents, m.done = m.done, nil }

// moveOn goes on in the current generation, where the walk is: the links of the items of the
// level before are this level again, and those of the items that this level has visited are
// the next.
func (w *walk) moveOn(ctx context.Context) error {
	w.did.Moves++
	if w.level == 0 && len(w.cfg.Links) != 0 {
		return fmt.Errorf("roots that are links cannot be found again: %w", w.s.view.over())
	}
	if err := w.s.refresh(ctx); err != nil {
		return err
	}
	w.learnNames()
	w.places = newVisited(w.s.view.areas)
	w.now.clear()
	w.chunks.clear()
	w.later.clear()
	w.sieve.links = w.sieve.links[:0]
	if w.level == 0 {
		if err := w.lookRoots(ctx); err != nil {
			return err
		}
	}
	if err := w.expandKeys(ctx, w.memory.parents, &w.now); err != nil {
		return err
	}
	return w.expandKeys(ctx, w.memory.done, &w.later)
}

// expandKeys queues what is behind the links of items, as far as they are still there.
func (w *walk) expandKeys(ctx context.Context, keys [][]byte, to *queue) error {
	for _, key := range keys {
		l, err := w.find(ctx, key)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		item, err := w.s.chase(ctx, l)
		if err != nil {
			return err
		}
		if err := w.expand(item, to); err != nil {
			return err
		}
		w.sift(to, 0)
		if err := w.expandChunks(ctx, to); err != nil {
			return err
		}
	}
	return nil
}

// expandChunks queues what is behind the links of chunks and of those behind them, at
// once: when the level goes on, everything that belongs to it is known.
func (w *walk) expandChunks(ctx context.Context, to *queue) error {
	f := &w.s.flight
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

package keli

import (
	"context"
	"fmt"

	"github.com/remora-kv/remora/kvl"
)

// ChaseList READs the items of a list one after the other, with as many READs on their way
// as the window allows, and calls visit with each, in the order of the list. Chunks are
// read ahead. An error of visit ends it. visit must not call the session.
func (s *Session) ChaseList(ctx context.Context, list kvl.List, visit func(kvl.Item) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	l := lister{s: s, total: list.Len(), next: list.Next()}
	s.links = list.Append(s.links[:0]) // the item is in memory that is read into next
	if l.total == 0 {
		return nil
	}
	if err := s.ready(ctx); err != nil {
		return err
	}
	s.flight.begin()
	defer s.flight.end(ctx)
	return l.run(ctx, visit)
}

// lister is the way through a list.
type lister struct {
	s     *Session
	total int
	next  kvl.Link // chunk that was not asked for
	asked int      // of s.links
	taken int      // items
	known int      // links that have left s.links
}

// ahead is how many links are known before the next chunk is asked for.
func (l *lister) ahead() int { return max(len(l.s.flight.ring), kvl.ChunkLinks) }

func (l *lister) run(ctx context.Context, visit func(kvl.Item) error) error {
	for l.taken < l.total {
		if l.s.flight.hungry() {
			l.ask()
		}
		if l.s.flight.count == 0 {
			return fmt.Errorf("keli: a list of %d links ends after %d: %w", l.total, l.taken, kvl.ErrCorrupt)
		}
		rec, err := l.s.flight.next(ctx)
		if err != nil {
			return err
		}
		if rec.chunk {
			err = l.learn(rec)
		} else {
			l.taken++
			err = l.s.show(rec.item, visit)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// show calls a function of the caller.
func (s *Session) show(item kvl.Item, visit func(kvl.Item) error) error {
	s.busy = true
	defer func() { s.busy = false }()
	return visit(item)
}

// ask asks for as much as there is room for.
func (l *lister) ask() {
	f := &l.s.flight
	for !f.full() {
		switch {
		case !l.next.IsZero() && len(l.s.links)-l.asked < l.ahead():
			f.ask(wanted{link: l.next, chunk: true})
			l.next = kvl.Link{}
		case l.asked < len(l.s.links):
			f.ask(wanted{link: l.s.links[l.asked]})
			l.asked++
		default:
			return
		}
	}
}

// learn takes the links of a chunk.
func (l *lister) learn(rec *record) error {
	rest := copy(l.s.links, l.s.links[l.asked:])
	l.known += l.asked
	l.s.links, l.asked = l.s.links[:rest], 0
	l.s.links = rec.links.Append(l.s.links)
	if n := l.known + len(l.s.links); n > l.total {
		return fmt.Errorf("keli: a list of %d links goes on after %d: %w", l.total, n, kvl.ErrCorrupt)
	}
	l.next = rec.links.Next()
	return nil
}

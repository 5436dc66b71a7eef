package keli

import (
	"context"
	"fmt"

	"github.com/remora-kv/remora/kvl"
)

// FollowList READs the items of a list, with as many READs in flight as the window allows, and calls
// visit with each, in the order of the list. It reads chunks ahead. An error of visit ends it.
// visit must not call the session.
func (s *Session) FollowList(ctx context.Context, list kvl.List, visit func(kvl.Item) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	l := listReader{s: s, total: list.Len(), next: list.Next()}
	s.links = list.Append(s.links[:0]) // the list is in memory that the next READ may overwrite
	if l.total == 0 {
		return nil
	}
	if err := s.ready(ctx); err != nil {
		return err
	}
	s.pipeline.begin()
	defer s.pipeline.end(ctx)
	return l.run(ctx, visit)
}

// listReader is the state of FollowList.
type listReader struct {
	s     *Session
	total int
	next  kvl.Link // next chunk, not requested yet
	asked int      // requested of s.links
	taken int      // items
	known int      // links that are no longer in s.links
}

// ahead is how many known links are enough to put off the request of the next chunk.
func (l *listReader) ahead() int { return max(len(l.s.pipeline.ring), kvl.ChunkLinks) }

func (l *listReader) run(ctx context.Context, visit func(kvl.Item) error) error {
	for l.taken < l.total {
		if l.s.pipeline.halfEmpty() {
			l.ask()
		}
		if l.s.pipeline.count == 0 {
			return fmt.Errorf("keli: list of %d links ends after %d: %w", l.total, l.taken, kvl.ErrCorrupt)
		}
		rec, err := l.s.pipeline.next(ctx)
		if err != nil {
			return err
		}
		if rec.chunk {
			err = l.addChunk(rec)
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

// show passes an item to a function of the caller.
func (s *Session) show(item kvl.Item, visit func(kvl.Item) error) error {
	s.busy = true
	defer func() { s.busy = false }()
	return visit(item)
}

// ask requests as many records as the pipeline has room for.
func (l *listReader) ask() {
	f := &l.s.pipeline
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

// addChunk adds the links of a chunk.
func (l *listReader) addChunk(rec *record) error {
	rest := copy(l.s.links, l.s.links[l.asked:])
	l.known += l.asked
	l.s.links, l.asked = l.s.links[:rest], 0
	l.s.links = rec.links.Append(l.s.links)
	if n := l.known + len(l.s.links); n > l.total {
		return fmt.Errorf("keli: list of %d links has at least %d: %w", l.total, n, kvl.ErrCorrupt)
	}
	l.next = rec.links.Next()
	return nil
}

// FollowAll READs the items behind links, with as many READs in flight as the window allows, and
// calls visit with each item and the index of its link, in order. A link that leads nowhere is
// ErrNotFound. An error of visit ends it. visit must not call the session.
func (s *Session) FollowAll(ctx context.Context, links []kvl.Link, visit func(i int, item kvl.Item) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	if err := s.ready(ctx); err != nil {
		return err
	}
	f := &s.pipeline
	f.begin()
	defer f.end(ctx)
	for asked, taken := 0, 0; taken < len(links); taken++ {
		if f.halfEmpty() {
			for ; asked < len(links) && !f.full(); asked++ {
				f.ask(wanted{link: links[asked]})
			}
		}
		rec, err := f.next(ctx)
		if err != nil {
			return err
		}
		if err := s.show(rec.item, func(item kvl.Item) error { return visit(taken, item) }); err != nil {
			return err
		}
	}
	return nil
}

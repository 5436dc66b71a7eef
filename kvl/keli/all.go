package keli

import (
	"context"

	"github.com/remora-kv/remora/kvl"
)

// ChaseAll READs the items behind links, with as many READs on their way as the window
// allows, and calls visit with each and the place of its link, in their order. A link that
// leads nowhere is ErrNotFound. An error of visit ends it. visit must not call the session.
func (s *Session) ChaseAll(ctx context.Context, links []kvl.Link, visit func(i int, item kvl.Item) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	if err := s.ready(ctx); err != nil {
		return err
	}
	f := &s.flight
	f.begin()
	defer f.end(ctx)
	for asked, taken := 0, 0; taken < len(links); taken++ {
		if f.hungry() {
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

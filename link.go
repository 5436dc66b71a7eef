package remora

import (
	"context"
	"fmt"

	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/internal/path"
	"github.com/remora-kv/remora/store"
)

// Link is the place of an item in the memory of a server, as it was when the item was got;
// Follow reads the item there. The zero Link leads nowhere. Links may be kept and shared within
// a program. A restarted server makes all of them invalid.
type Link struct {
	key      string
	instance uint64
	at       store.Link
}

// IsZero reports whether the link leads nowhere.
func (l Link) IsZero() bool { return l.at.Version == 0 }

// Key returns the key of the item.
func (l Link) Key() string { return l.key }

// GetLink is GetItem, with a link to the item. The link is zero if the server offers none
// (Info.Links).
func (c *Client) GetLink(ctx context.Context, key string) (Item, Link, error) {
	if err := checkKey(key, c.conns.Set().Welcome); err != nil {
		return Item{}, Link{}, err
	}
	instance := c.conns.Set().Welcome.Instance
	r := newRequest()
	r.b = append(r.b, key...)
	result, err := c.do(ctx, command.Link, key, r.b, noUses, nil)
	r.free()
	if err != nil {
		return Item{}, Link{}, err
	}
	item, err := c.found(result, 0)
	if err != nil {
		return item, Link{}, err
	}
	at, ok := path.LinkIn(result)
	if !ok {
		return item, Link{}, nil
	}
	return item, Link{key: key, instance: instance, at: at}, nil
}

// noUses ends a link request that reports no uses.
var noUses = command.AppendUses(nil, nil)

// Follow gets the item that a link leads to by one READ, without the server's CPU. It is
// ErrChanged when the item is no longer there: it was changed, moved, deleted or evicted, it
// has expired or is about to, or the server was restarted. It is ErrUnsupported if the server
// offers no links (Info.Links) or the client has none (WithLinks; on shared memory clients by
// PathRFP have links, and so do their sessions without batches).
func (c *Client) Follow(ctx context.Context, l Link) (Item, error) {
	w := c.conns.Set().Welcome
	if err := l.check(&c.cfg, w); err != nil {
		return Item{}, err
	}
	r := newRequest()
	r.b = path.AppendFollow(r.b, &l.at, l.key)
	result, err := c.do(ctx, command.Follow, l.key, r.b, nil, nil)
	r.free()
	if err != nil {
		return Item{}, err
	}
	return c.found(result, 0)
}

// Follow is Client.Follow.
func (s *Session) Follow(ctx context.Context, l Link) (Item, error) {
	if err := l.check(&s.cfg, s.welcome); err != nil {
		return Item{}, err
	}
	for t := (attempt{}); ; {
		r, err := s.begin(ctx, command.Follow, l.key)
		if err != nil {
			return Item{}, err
		}
		if err := l.check(&s.cfg, s.welcome); err != nil {
			return Item{}, err // the server was restarted
		}
		res := s.finish(ctx, r, command.Follow, s.startFollow(r, &l))
		if res.Err == nil {
			res.Item.Value = append([]byte(nil), res.Item.Value...)
			return res.Item, nil
		}
		if !s.repeats(ctx, command.Follow, &t) {
			return Item{}, res.Err
		}
	}
}

func (s *Session) startFollow(r *sessionRoute, l *Link) error {
	s.hash = s.seed.HashString(l.key)
	s.scratch = path.AppendFollow(s.scratch[:0], &l.at, l.key)
	return s.started(r, command.Follow, 0, r.conn.SendFollow(s.hash, s.scratch))
}

// errNoLinks says that links cannot be followed here.
var errNoLinks = fmt.Errorf("%w: no links: start the server with --direct-reads on, dial its first --listen address and use WithLinks", ErrUnsupported)

// check returns why a link cannot be followed.
func (l *Link) check(cfg *config, w *command.Welcome) error {
	switch {
	case l.IsZero():
		return fmt.Errorf("%w: a zero link: take links from GetLink", ErrInvalid)
	case cfg.Links == 0 || !w.Links:
		return errNoLinks
	case l.instance != w.Instance:
		return ErrChanged
	}
	return nil
}

package remora

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/rpc/driver"
	"github.com/remora-kv/remora/store"
)

// Link leads to an item in the memory of a server, as it was when it was got: Chase reads
// it there. The zero Link leads nowhere. Links may be kept and shared within a program;
// a server that was restarted knows none of them.
type Link struct {
	key      string
	instance uint64
	at       store.Link
}

// IsZero reports whether the link leads nowhere.
func (l Link) IsZero() bool { return l.at.Version == 0 }

// Key returns the key of the item.
func (l Link) Key() string { return l.key }

// GetLink is GetItem, with a link to the item: zero if the server has none (Info.Links).
func (c *Client) GetLink(ctx context.Context, key string) (Item, Link, error) {
	if err := checkKey(key); err != nil {
		return Item{}, Link{}, err
	}
	instance := c.link.Load().welcome.Instance
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
	return item, linkIn(result, key, instance), nil
}

// noUses ends a link request that tells of no uses.
var noUses = command.AppendUses(nil, nil)

// linkIn returns the link that a result has.
func linkIn(result []byte, key string, instance uint64) Link {
	at, ok := placeIn(result)
	if !ok {
		return Link{}
	}
	return Link{key: key, instance: instance, at: at}
}

// placeIn returns where the item of a result is, if it says so and it can be read there.
func placeIn(result []byte) (store.Link, bool) {
	var item command.Item
	status, err := item.Read(result)
	if err != nil || status != command.OK || item.Place.Len == 0 || item.Place.Len > sightBuffer {
		return store.Link{}, false
	}
	span := store.Span{Area: int(item.Place.Area), Off: int64(item.Place.Off), Len: int(item.Place.Len)}
	return store.Link{Span: span, Version: item.Version}, true
}

// Chase gets the item that a link leads to by one READ, without the server's CPU. It is
// ErrChanged when that item is not there any more, whatever became of it: it was changed,
// moved, deleted or evicted, it has expired or is about to, or the server is another one.
// Without links it is ErrUnsupported: the server has to have them (Info.Links), and the client
// as well (WithLinks; on shared memory clients by PathRFP do, and their sessions without
// batches).
func (c *Client) Chase(ctx context.Context, l Link) (Item, error) {
	w := c.link.Load().welcome
	if err := l.check(&c.cfg, w); err != nil {
		return Item{}, err
	}
	r := newRequest()
	r.b = l.appendTo(r.b)
	result, err := c.do(ctx, opChase, l.key, r.b, nil, nil)
	r.free()
	if err != nil {
		return Item{}, err
	}
	return c.found(result, 0)
}

// Chase is Client.Chase.
func (s *Session) Chase(ctx context.Context, l Link) (Item, error) {
	if err := l.check(&s.cfg, s.welcome); err != nil {
		return Item{}, err
	}
	for t := (attempt{}); ; {
		ln, err := s.begin(ctx, opChase, l.key)
		if err != nil {
			return Item{}, err
		}
		if err := l.check(&s.cfg, s.welcome); err != nil {
			return Item{}, err // it is another server now
		}
		r := s.finish(ctx, ln, opChase, s.startChase(ln, &l))
		if r.Err == nil {
			r.Item.Value = append([]byte(nil), r.Item.Value...)
			return r.Item, nil
		}
		if !s.repeats(ctx, opChase, &t) {
			return Item{}, r.Err
		}
	}
}

func (s *Session) startChase(ln *sessionLane, l *Link) error {
	s.hash = s.seed.HashString(l.key)
	s.scratch = l.appendTo(s.scratch[:0])
	err := ln.conn.Send(&driver.Message{Proc: uint16(opChase), Hint: s.hash, Head: s.scratch})
	return s.started(ln, opChase, 0, err)
}

// errNoLinks says that links cannot be followed here.
var errNoLinks = fmt.Errorf("%w: there are no links: they need a server that has them on this address (--links on), and WithLinks, unless operations on shared memory go one at a time by PathRFP", ErrUnsupported)

// opChase is a search for an item where a link leads to. It is never sent: its message is
// the place, the version and the key.
const opChase = command.Proc(1 << 15)

const chaseHead = 28

func (l *Link) appendTo(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint64(b, uint64(l.at.Span.Off))
	b = le.AppendUint64(b, l.at.Version)
	b = le.AppendUint32(b, uint32(l.at.Span.Len))
	b = le.AppendUint64(b, uint64(l.at.Span.Area))
	return append(b, l.key...)
}

// chaseOf reads the message of opChase.
func chaseOf(b []byte) (at store.Link, key []byte) {
	le := binary.LittleEndian
	at.Span.Off, at.Version = int64(le.Uint64(b)), le.Uint64(b[8:])
	at.Span.Len, at.Span.Area = int(le.Uint32(b[16:])), int(le.Uint64(b[20:]))
	return at, b[chaseHead:]
}

// check returns why a link cannot be followed.
func (l *Link) check(cfg *config, w *command.Welcome) error {
	switch {
	case l.IsZero():
		return fmt.Errorf("%w: a link that leads nowhere: take it from GetLink", ErrInvalid)
	case cfg.links == 0 || !w.Links:
		return errNoLinks
	case l.instance != w.Instance:
		return ErrChanged
	}
	return nil
}

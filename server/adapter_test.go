package server_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/test/cachetest"
)

// operations is what a client and a session have in common.
type operations interface {
	GetItem(ctx context.Context, key string) (remora.Item, error)
	Put(ctx context.Context, key string, e remora.Entry, cond remora.Condition) (uint64, error)
	Delete(ctx context.Context, key string) error
	DeleteVersion(ctx context.Context, key string, version uint64) error
	Incr(ctx context.Context, key string, delta int64) (int64, error)
	Touch(ctx context.Context, key string, ttl time.Duration) error
}

// adapter is a client or a session as a cachetest.Cache.
type adapter struct {
	operations
	large bool // values are stored as long ones
}

// Do implements cachetest.Cache.
func (a adapter) Do(ctx context.Context, c *cachetest.Call) cachetest.Outcome {
	var o cachetest.Outcome
	var err error
	switch c.Kind {
	case cachetest.Get:
		var item remora.Item
		item, err = a.GetItem(ctx, c.Key)
		o = found(&item, a.large)
	case cachetest.Delete:
		err = a.Delete(ctx, c.Key)
	case cachetest.DeleteVersion:
		err = a.DeleteVersion(ctx, c.Key, c.Version)
	case cachetest.Incr:
		o.Sum, err = a.Incr(ctx, c.Key, c.Delta)
	case cachetest.Touch:
		err = a.Touch(ctx, c.Key, c.TTL)
	default:
		entry, cond := putOf(c, a.large)
		o.Version, err = a.Put(ctx, c.Key, entry, cond)
	}
	return ended(o, err)
}

func found(item *remora.Item, large bool) cachetest.Outcome {
	o := cachetest.Outcome{Value: string(item.Value), Version: item.Version, Flags: item.Flags, TTL: item.TTL}
	if large && len(item.Value) != 0 {
		o.Value = shrink(o.Value)
	}
	return o
}

// putOf is the put of a call that stores.
func putOf(c *cachetest.Call, large bool) (remora.Entry, remora.Condition) {
	e := remora.Entry{Value: []byte(c.Value), Flags: c.Flags, TTL: c.TTL}
	if large {
		e.Value = []byte(enlarge(c.Value))
	}
	switch c.Kind {
	case cachetest.Add:
		return e, remora.IfAbsent()
	case cachetest.Replace:
		return e, remora.IfPresent()
	case cachetest.CAS:
		return e, remora.IfVersion(c.Version)
	default:
		return e, remora.Always()
	}
}

// largest is the length of the longest large value.
const largest = 60_000

// enlarge makes a long value of a short one: repeated, and of a length that
// follows from it. Some have the same length, so that they are stored in place of
// each other.
func enlarge(value string) string {
	sizes := []int{100, 1500, 3000, 9000, 30_000, largest, largest}
	h := fnv.New32a()
	_, _ = h.Write([]byte(value))
	unit := "<" + value + ">"
	size := sizes[h.Sum32()%uint32(len(sizes))]
	return strings.Repeat(unit, size/len(unit)+1)[:size]
}

// shrink is the inverse. What is not whole, or of several values, becomes one that
// nobody has stored.
func shrink(long string) string {
	short, _, ok := strings.Cut(strings.TrimPrefix(long, "<"), ">")
	if !ok || enlarge(short) != long {
		return fmt.Sprintf("a torn value of %d bytes that begins with %.40q and ends with %.40q",
			len(long), long, long[max(0, len(long)-40):])
	}
	return short
}

// ended is the outcome of an operation that returned err; o is that of success.
func ended(o cachetest.Outcome, err error) cachetest.Outcome {
	if err == nil {
		return o
	}
	status := cachetest.Failed
	for _, c := range []struct {
		err    error
		status cachetest.Status
	}{
		{remora.ErrNotFound, cachetest.NotFound},
		{remora.ErrExists, cachetest.Exists},
		{remora.ErrChanged, cachetest.Changed},
		{remora.ErrNotNumber, cachetest.NotNumber},
		{remora.ErrTooLarge, cachetest.TooLarge},
		{remora.ErrOutOfMemory, cachetest.OutOfMemory},
		{remora.ErrUnavailable, cachetest.Unavailable},
		{remora.ErrUnknown, cachetest.Unknown},
	} {
		if errors.Is(err, c.err) {
			status = c.status
			break
		}
	}
	return cachetest.Outcome{Status: status, Text: err.Error()}
}

// pipe is a session with operations on their way as a cachetest.Pipe.
type pipe struct {
	*remora.Session
	large bool // as in adapter
	ready []outcome
}

type outcome struct {
	tag uint64
	cachetest.Outcome
}

// Pending implements cachetest.Pipe.
func (p *pipe) Pending() int { return p.Session.Pending() + len(p.ready) }

// Start implements cachetest.Pipe. What a session cannot start is done alone.
func (p *pipe) Start(ctx context.Context, tag uint64, c *cachetest.Call) {
	if c.Kind == cachetest.DeleteVersion {
		p.takeAll(ctx)
		p.ready = append(p.ready, outcome{tag, adapter{p.Session, p.large}.Do(ctx, c)})
		return
	}
	for {
		err := p.start(tag, c)
		switch {
		case err == nil:
			return
		case errors.Is(err, remora.ErrWindowFull):
			if p.take(ctx) {
				continue
			}
		case errors.Is(err, remora.ErrUnavailable):
			p.takeAll(ctx)
			_ = p.Reconnect(ctx) // the next one says it if it failed
		}
		p.ready = append(p.ready, outcome{tag, ended(cachetest.Outcome{}, err)})
		return
	}
}

func (p *pipe) start(tag uint64, c *cachetest.Call) error {
	switch c.Kind {
	case cachetest.Get:
		return p.StartGet(tag, c.Key)
	case cachetest.Delete:
		return p.StartDelete(tag, c.Key)
	case cachetest.Incr:
		return p.StartIncr(tag, c.Key, c.Delta)
	case cachetest.Touch:
		return p.StartTouch(tag, c.Key, c.TTL)
	default:
		entry, cond := putOf(c, p.large)
		return p.StartPut(tag, c.Key, entry, cond)
	}
}

// take takes a result of the session; false when there is none to be had.
func (p *pipe) take(ctx context.Context) bool {
	r, err := p.Session.Next(ctx)
	if err != nil {
		return false
	}
	o := found(&r.Item, p.large)
	o.Sum = r.Sum
	p.ready = append(p.ready, outcome{r.Tag, ended(o, r.Err)})
	return true
}

// takeAll takes all results of the session.
func (p *pipe) takeAll(ctx context.Context) {
	for p.Session.Pending() > 0 && p.take(ctx) {
		continue
	}
}

// Next implements cachetest.Pipe.
func (p *pipe) Next(ctx context.Context) (uint64, cachetest.Outcome) {
	if len(p.ready) == 0 && !p.take(ctx) {
		panic("a session with operations started has no results")
	}
	o := p.ready[0]
	p.ready = p.ready[1:]
	return o.tag, o.Outcome
}

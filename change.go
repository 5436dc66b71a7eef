package remora

import (
	"context"
	"time"

	"github.com/remora-kv/remora/internal/command"
)

// Delete removes an item, or returns ErrNotFound.
func (c *Client) Delete(ctx context.Context, key string) error {
	return c.delete(ctx, key, 0)
}

// DeleteVersion is Delete if the item has this version; ErrChanged if it has another.
func (c *Client) DeleteVersion(ctx context.Context, key string, version uint64) error {
	if err := checkVersion(version); err != nil {
		return err
	}
	return c.delete(ctx, key, version)
}

func (c *Client) delete(ctx context.Context, key string, version uint64) error {
	if err := checkKey(key, c.conns.Set().Welcome); err != nil {
		return err
	}
	r := newRequest()
	defer r.free()
	r.b = command.AppendDelete(r.b, key, version)
	return c.simple(ctx, command.Delete, key, r)
}

// Touch sets the time to live of an item (Entry.TTL), counted from now, or returns
// ErrNotFound. The version stays.
func (c *Client) Touch(ctx context.Context, key string, ttl time.Duration) error {
	ms, err := millis(ttl)
	if err != nil {
		return err
	}
	if err := checkKey(key, c.conns.Set().Welcome); err != nil {
		return err
	}
	r := newRequest()
	defer r.free()
	r.b = command.AppendTouch(r.b, key, ms)
	return c.simple(ctx, command.Touch, key, r)
}

// Incr adds delta to the decimal number that is the value of an item, and returns
// the sum. Flags and time to live stay. If there is no item it returns ErrNotFound: Add
// one with the value "0" first.
func (c *Client) Incr(ctx context.Context, key string, delta int64) (int64, error) {
	if err := checkKey(key, c.conns.Set().Welcome); err != nil {
		return 0, err
	}
	r := newRequest()
	defer r.free()
	r.b = command.AppendIncr(r.b, key, delta)
	result, err := c.do(ctx, command.Incr, key, r.b, nil, r.out[:0])
	if err != nil {
		return 0, err
	}
	return c.counted(result)
}

package remora

import (
	"context"
	"fmt"
	"time"

	"github.com/remora-kv/remora/internal/command"
)

// Set stores a value under a key, whatever was there, for the time ttl: see
// Entry.TTL. It returns the version of the item.
func (c *Client) Set(ctx context.Context, key string, value []byte, ttl time.Duration) (version uint64, err error) {
	return c.Put(ctx, key, Entry{Value: value, TTL: ttl}, Always())
}

// Add is Set for a key that is not there; else ErrExists.
func (c *Client) Add(ctx context.Context, key string, value []byte, ttl time.Duration) (version uint64, err error) {
	return c.Put(ctx, key, Entry{Value: value, TTL: ttl}, IfAbsent())
}

// Replace is Set for a key that is there; else ErrNotFound.
func (c *Client) Replace(ctx context.Context, key string, value []byte, ttl time.Duration) (version uint64, err error) {
	return c.Put(ctx, key, Entry{Value: value, TTL: ttl}, IfPresent())
}

// CAS is Set for an item of this version: ErrNotFound if there is none, ErrChanged
// if it has another.
func (c *Client) CAS(
	ctx context.Context, key string, value []byte, ttl time.Duration, version uint64,
) (newVersion uint64, err error) {
	return c.Put(ctx, key, Entry{Value: value, TTL: ttl}, IfVersion(version))
}

// Put stores an entry under a key if the condition is met, and returns the version
// of the item. The value is not looked at any more when Put returns.
func (c *Client) Put(ctx context.Context, key string, e Entry, cond Condition) (version uint64, err error) {
	s, err := storeOf(&e, cond)
	if err != nil {
		return 0, err
	}
	if err := checkPut(key, e.Value, c.link.Load().welcome.MaxValue); err != nil {
		return 0, err
	}
	r := newRequest()
	r.b = command.AppendPut(r.b, key, nil, &s)
	defer r.free()
	result, err := c.do(ctx, command.Put, key, r.b, e.Value, r.out[:0])
	if err != nil {
		return 0, err
	}
	return c.stored(result)
}

// stored reads the result of a put.
func (d *dialer) stored(result []byte) (uint64, error) {
	version, status, err := command.ParseStored(result)
	if err != nil || status != command.OK {
		return 0, d.resultError(command.Put, result)
	}
	return version, nil
}

// checkPut refuses keys and values that the server does not take.
func checkPut(key string, value []byte, most int) error {
	if len(value) > most {
		return fmt.Errorf("%w: a value of %d bytes, the server takes %d: split it, or start the server with a larger limit",
			ErrTooLarge, len(value), most)
	}
	return checkKey(key)
}

package remora

import (
	"context"
	"fmt"
	"time"

	"github.com/remora-kv/remora/internal/command"
)

// Set stores a value under a key for the time ttl (Entry.TTL), with flags of 0, and returns the
// version of the item.
func (c *Client) Set(ctx context.Context, key string, value []byte, ttl time.Duration) (version uint64, err error) {
	return c.Put(ctx, key, Entry{Value: value, TTL: ttl}, Always())
}

// Add is Set if there is no item; otherwise ErrExists.
func (c *Client) Add(ctx context.Context, key string, value []byte, ttl time.Duration) (version uint64, err error) {
	return c.Put(ctx, key, Entry{Value: value, TTL: ttl}, IfAbsent())
}

// Replace is Set if there is an item; otherwise ErrNotFound.
func (c *Client) Replace(ctx context.Context, key string, value []byte, ttl time.Duration) (version uint64, err error) {
	return c.Put(ctx, key, Entry{Value: value, TTL: ttl}, IfPresent())
}

// CAS is Set if the item still has the version of old, which GetItem has returned, and keeps its
// flags: ErrNotFound if there is no item, ErrChanged if it has another version. To change flags, Put
// under IfVersion.
func (c *Client) CAS(ctx context.Context, key string, old Item, value []byte, ttl time.Duration) (version uint64, err error) {
	return c.Put(ctx, key, Entry{Value: value, Flags: old.Flags, TTL: ttl}, IfVersion(old.Version))
}

// Put stores an entry under a key if the condition is met, and returns the version
// of the item. Put does not keep the value.
func (c *Client) Put(ctx context.Context, key string, e Entry, cond Condition) (version uint64, err error) {
	s, err := storeOf(&e, cond)
	if err != nil {
		return 0, err
	}
	if err := checkPut(key, e.Value, c.conns.Set().Welcome); err != nil {
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

// checkPut refuses keys and values that the server would refuse.
func checkPut(key string, value []byte, w *command.Welcome) error {
	if len(value) > w.MaxValue {
		return fmt.Errorf("%w: the value has %d bytes, the server allows %d: split it, or start the server with a larger limit (--max-value)",
			ErrTooLarge, len(value), w.MaxValue)
	}
	return checkKey(key, w)
}

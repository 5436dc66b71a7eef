package remora

import (
	"context"

	"github.com/remora-kv/remora/internal/command"
)

// ItemOverhead is how much room behind the value GetInto needs in its buffer to avoid
// an allocation: 31 bytes.
const ItemOverhead = command.PlacedSize

// Get returns a copy of the value of a key, or ErrNotFound. A Get that lost its
// connection is tried once more on the next.
func (c *Client) Get(ctx context.Context, key string) ([]byte, error) {
	item, err := c.GetInto(ctx, key, nil)
	return item.Value, err
}

// GetItem is Get with version, flags and time to live.
func (c *Client) GetItem(ctx context.Context, key string) (Item, error) {
	return c.GetInto(ctx, key, nil)
}

// GetInto is GetItem with the value appended to dst, as append does: Item.Value is dst
// with the value behind it. Nothing is allocated when dst has room for the value and
// ItemOverhead bytes. Bytes between the length and the capacity of dst may be
// overwritten, even if GetInto fails.
func (c *Client) GetInto(ctx context.Context, key string, dst []byte) (Item, error) {
	if err := checkKey(key, c.conns.Set().Welcome); err != nil {
		return Item{}, err
	}
	result, err := c.do(ctx, command.Get, key, view(key), nil, dst)
	if err != nil {
		return Item{}, err
	}
	return c.found(result, len(dst))
}

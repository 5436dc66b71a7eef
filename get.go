package remora

import (
	"context"

	"github.com/remora-kv/remora/internal/command"
)

// ItemOverhead is how much room behind the value GetInto needs in its buffer so as
// not to allocate.
const ItemOverhead = command.PlacedSize

// Get returns the value of a key, in memory of its own; ErrNotFound if there is
// none. A Get that lost its connection is tried once more on the next.
func (c *Client) Get(ctx context.Context, key string) ([]byte, error) {
	item, err := c.GetInto(ctx, key, nil)
	return item.Value, err
}

// GetItem is Get with what the server knows beside the value.
func (c *Client) GetItem(ctx context.Context, key string) (Item, error) {
	return c.GetInto(ctx, key, nil)
}

// GetInto is GetItem with the value appended to dst: Item.Value is dst and, behind
// it, the value, as append returns it. Nothing is allocated when dst has room for
// the value and ItemOverhead bytes. What is behind the length of dst is
// overwritten, with an error too.
func (c *Client) GetInto(ctx context.Context, key string, dst []byte) (Item, error) {
	if err := checkKey(key); err != nil {
		return Item{}, err
	}
	result, err := c.do(ctx, command.Get, key, view(key), nil, dst)
	if err != nil {
		return Item{}, err
	}
	return c.found(result, len(dst))
}

// found reads the result of a get behind the first base bytes.
func (d *dialer) found(result []byte, base int) (item Item, err error) {
	if !item.read(result[base:]) {
		return item, d.resultError(command.Get, result[base:])
	}
	item.Value = result[:base+len(item.Value)]
	return item, nil
}

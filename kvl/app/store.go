package app

import (
	"context"
	"errors"
	"fmt"
)

// Store is a key-value store as the applications use it.
type Store interface {
	// Get gets the values of keys, as many at a time as the store can, and calls f with
	// each, in their order; nil is one that is not there. The value is valid until f
	// returns. An error of f ends it.
	Get(ctx context.Context, keys *Keys, f func(i int, value []byte) error) error
}

// ErrMissing says that an item is not there which another one names.
var ErrMissing = errors.New("app: an item is missing")

// Keys is a list of keys that is filled again and again.
type Keys struct {
	bytes []byte
	ends  []int
}

// Add adds a key, which is copied.
func (k *Keys) Add(key []byte) {
	k.bytes = append(k.bytes, key...)
	k.ends = append(k.ends, len(k.bytes))
}

// Len returns how many keys there are.
func (k *Keys) Len() int { return len(k.ends) }

// At returns key i, valid until Reset.
func (k *Keys) At(i int) []byte {
	from := 0
	if i > 0 {
		from = k.ends[i-1]
	}
	return k.bytes[from:k.ends[i]]
}

// cut leaves the first n keys, if there are more.
func (k *Keys) cut(n int) {
	if n < len(k.ends) {
		k.ends = k.ends[:n]
	}
}

// Reset empties the list.
func (k *Keys) Reset() { k.bytes, k.ends = k.bytes[:0], k.ends[:0] }

// need is Get of items that must be there.
func need(ctx context.Context, s Store, keys *Keys, f func(i int, v value) error) error {
	return s.Get(ctx, keys, func(i int, b []byte) error {
		if b == nil {
			return fmt.Errorf("%w: %q", ErrMissing, keys.At(i))
		}
		return f(i, value(b))
	})
}

// copyOne returns a copy of an item that must be there.
func copyOne(ctx context.Context, s Store, key []byte) (item value, err error) {
	var keys Keys
	keys.Add(key)
	err = need(ctx, s, &keys, func(_ int, v value) error {
		item = append(value(nil), v...)
		return nil
	})
	return item, err
}

// addKeys adds the keys of the list of an item to keys, and follows where it goes on.
func addKeys(ctx context.Context, s Store, item value, a attr, keys *Keys) error {
	eachKey(item.get(a), keys.Add)
	for next := item.get(nextAttr); len(next) != 0; {
		more, err := copyOne(ctx, s, next)
		if err != nil {
			return err
		}
		eachKey(more.get(restAttr), keys.Add)
		next = more.get(nextAttr)
	}
	return nil
}

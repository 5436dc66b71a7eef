package remora

import (
	"context"
	"errors"
	"fmt"

	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/rpc/driver"
)

// MultiError is what GetMulti could not get.
type MultiError struct {
	// Keys are the keys for which there is no answer, with the reason of each.
	Keys map[string]error
	// Err is one of the reasons.
	Err error
}

// Error implements error.
func (e *MultiError) Error() string {
	return fmt.Sprintf("remora: no answer for %d keys, for one of them because: %v", len(e.Keys), e.Err)
}

// Unwrap returns one of the reasons.
func (e *MultiError) Unwrap() error { return e.Err }

// GetMulti gets many items, from all cores at the same time. Keys that are not
// there are not in the result. When there is no answer for some, the error is a
// *MultiError that tells which, and the result has the others.
func (c *Client) GetMulti(ctx context.Context, keys []string) (map[string]Item, error) {
	items := make(map[string]Item, len(keys))
	var failed *MultiError
	fail := func(key string, err error) {
		if failed == nil {
			failed = &MultiError{Keys: map[string]error{}, Err: err}
		}
		failed.Keys[key] = err
	}
	calls, late := c.startAll(ctx, keys, fail)
	for i := range calls {
		key := calls[i].key
		result, err := calls[i].pending.Wait(ctx)
		if err != nil || refusal(result) != command.OK {
			late = append(late, key)
			continue
		}
		c.takeItem(items, key, result, fail)
	}
	for _, key := range late { // with all that GetItem does for one that is not easy
		switch item, err := c.GetItem(ctx, key); {
		case err == nil:
			items[key] = item
		case !errors.Is(err, ErrNotFound):
			fail(key, err)
		}
	}
	if failed != nil {
		return items, failed
	}
	return items, nil
}

// multiCall is one of the calls of GetMulti.
type multiCall struct {
	key     string
	pending *driver.Pending
}

// startAll starts the calls of GetMulti that can be started; late are the others.
func (c *Client) startAll(ctx context.Context, keys []string, fail func(string, error)) (calls []multiCall, late []string) {
	l := c.link.Load()
	size := 0
	for _, key := range keys {
		size += len(key)
	}
	text := make([]byte, 0, size)
	calls = make([]multiCall, 0, len(keys))
	for _, key := range keys {
		if err := checkKey(key); err != nil {
			fail(key, err)
			continue
		}
		ln, hash := l.laneOf(key)
		conn := ln.conn.Load()
		if conn == nil || ctx.Err() != nil {
			late = append(late, key)
			continue
		}
		at := len(text)
		text = append(text, key...)
		m := driver.Message{Proc: uint16(command.Get), Class: class, Hint: hash, Head: text[at:len(text):len(text)]}
		calls = append(calls, multiCall{key, conn.Go(&m, nil)})
	}
	return calls, late
}

// takeItem puts an item into the result of GetMulti.
func (c *Client) takeItem(items map[string]Item, key string, result []byte, fail func(string, error)) {
	switch item, err := c.found(result, 0); {
	case err == nil:
		items[key] = item
	case !errors.Is(err, ErrNotFound):
		fail(key, err)
	}
}

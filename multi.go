package remora

import (
	"context"
	"errors"
	"fmt"

	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/internal/path"
)

// MultiError reports the keys that GetMulti has no answer for.
type MultiError struct {
	// Keys maps each key without an answer to the reason.
	Keys map[string]error
	// Err is the first reason.
	Err error
}

// Error implements error.
func (e *MultiError) Error() string {
	return fmt.Sprintf("remora: no answer for %d keys, the first because: %v", len(e.Keys), e.Err)
}

// Unwrap returns the first reason.
func (e *MultiError) Unwrap() error { return e.Err }

// GetMulti gets many items, from all cores at the same time. The result has the keys
// that exist. When there is no answer for some keys, the error is a *MultiError that
// names them, and the result has the others.
func (c *Client) GetMulti(ctx context.Context, keys []string) (map[string]Item, error) {
	items := make(map[string]Item, len(keys))
	var failed *MultiError
	fail := func(key string, err error) {
		if failed == nil {
			failed = &MultiError{Keys: map[string]error{}, Err: err}
		}
		failed.Keys[key] = err
	}
	for len(keys) != 0 {
		keys = c.getTogether(ctx, keys, items, fail)
		// GetItem waits and repeats where needed. When it has an answer, the others go together again.
		for answered := false; len(keys) != 0 && !answered; keys = keys[1:] {
			item, err := c.GetItem(ctx, keys[0])
			answered = takeItem(items, keys[0], item, err, fail)
		}
	}
	if failed != nil {
		return items, failed
	}
	return items, nil
}

// getTogether gets items at the same time, each once, and returns the keys without an answer.
func (c *Client) getTogether(ctx context.Context, keys []string, items map[string]Item, fail func(string, error)) (late []string) {
	calls, late := c.startAll(ctx, keys, fail)
	for i := range calls {
		key := calls[i].key
		result, err := calls[i].pending.Wait(ctx)
		if err != nil || refusal(result) != command.OK {
			late = append(late, key)
			continue
		}
		item, err := c.found(result, 0)
		takeItem(items, key, item, err, fail)
	}
	return late
}

// multiCall is one of the calls of GetMulti.
type multiCall struct {
	key     string
	pending *path.Pending
}

// startAll starts the calls of GetMulti that can be started; late are the others.
func (c *Client) startAll(ctx context.Context, keys []string, fail func(string, error)) (calls []multiCall, late []string) {
	set := c.conns.Set()
	size := 0
	for _, key := range keys {
		size += len(key)
	}
	text := make([]byte, 0, size)
	calls = make([]multiCall, 0, len(keys))
	for _, key := range keys {
		if err := checkKey(key, set.Welcome); err != nil {
			fail(key, err)
			continue
		}
		r, hash := set.RouteOf(key)
		conn := r.Conn()
		if conn == nil || ctx.Err() != nil {
			late = append(late, key)
			continue
		}
		at := len(text)
		text = append(text, key...)
		calls = append(calls, multiCall{key, conn.StartGet(hash, text[at:len(text):len(text)])})
	}
	return calls, late
}

// takeItem puts an item into the result of GetMulti, and reports whether there was an answer.
func takeItem(items map[string]Item, key string, item Item, err error, fail func(string, error)) bool {
	switch {
	case err == nil:
		items[key] = item
	case !errors.Is(err, ErrNotFound):
		fail(key, err)
		return false
	}
	return true
}

package cache

import (
	"context"

	"github.com/remora-kv/remora/bench/load"
)

// nullClient answers the calls of one goroutine with what they are to find.
type nullClient struct{ caller *caller }

// newNullCaller makes a caller whose client costs nothing.
func newNullCaller(c *Case, stream *load.Stream) *caller {
	k := newCaller(nil, c, stream)
	k.client = nullClient{k}
	return k
}

func (c nullClient) get(_ context.Context, _, _ []byte) ([]byte, error) {
	k := c.caller
	return k.values.Fill(k.value, k.index, k.stamp), nil
}

func (nullClient) set(context.Context, []byte, []byte) error { return nil }

func (nullClient) fatal(error) bool { return true }

package cache

import (
	"context"
	"errors"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/bench/load"

	"github.com/remora-kv/remora/internal/cycles"
)

// client is one that goroutines share. The error is errMiss, what the server says,
// or one that ends the run.
type client interface {
	// get returns a value, in buf where it can. The key stays the caller's.
	get(ctx context.Context, key, buf []byte) ([]byte, error)
	set(ctx context.Context, key, value []byte) error
	// fatal reports whether an error ends the run.
	fatal(err error) bool
}

// remoraClient is Remora's.
type remoraClient struct{ *remora.Client }

func (c remoraClient) get(ctx context.Context, key, buf []byte) ([]byte, error) {
	item, err := c.GetInto(ctx, view(key), buf[:0])
	if err != nil && errors.Is(err, remora.ErrNotFound) {
		return nil, errMiss
	}
	return item.Value, err
}

func (c remoraClient) set(ctx context.Context, key, value []byte) error {
	_, err := c.Set(ctx, view(key), value, 0)
	return err
}

func (remoraClient) fatal(err error) bool { return answered(err) == nil }

// caller is one of the goroutines that share a client.
type caller struct {
	client client
	stream *load.Stream
	keys   load.Keys
	values load.Values
	key    []byte
	value  []byte
	buf    []byte
	fills  bool // misses are followed by puts
	owed   bool // the get before has missed
	index  uint64
	stamp  uint64
	op     load.Op
}

func newCaller(cl client, c *Case, stream *load.Stream) *caller {
	k := &caller{
		client: cl, stream: stream, keys: load.KeysOf(c.keySizes()), values: load.ValuesOf(c.valueSizes()),
		buf: make([]byte, 0, c.longestValue()+remora.ItemOverhead), fills: c.Fill,
	}
	k.key, k.value = k.keys.Buffer(), k.values.Buffer()
	return k
}

// Run implements load.Worker.
func (k *caller) Run(ctx context.Context, m *load.Meter) error {
	look, timed := m.LookEvery(), uint64(0)
	for turn := look; m.Ops < m.Limit; turn-- {
		if turn == 0 {
			turn = look
			if m.Stopped() {
				return load.ErrStopped
			}
			if m.Over() {
				break
			}
		}
		clock := m.Ops == timed
		if clock {
			timed += m.Gap()
		}
		if err := k.one(ctx, m, clock); err != nil {
			return err
		}
	}
	m.End()
	return nil
}

// next makes the next operation: what a miss has left is put first.
func (k *caller) next() {
	if k.owed {
		k.owed, k.op = false, load.Put
		return
	}
	k.index, k.op, k.stamp = k.stream.Next()
}

// one does one operation.
func (k *caller) one(ctx context.Context, m *load.Meter, clock bool) error {
	k.next()
	key := k.keys.Fill(k.key, k.index)
	var start uint64
	if clock {
		start = cycles.Now()
	}
	var value []byte
	var err error
	if k.op.Reads() {
		m.Gets++
		value, err = k.client.get(ctx, key, k.buf)
	}
	if k.op == load.Modify {
		value, err = nil, k.modify(ctx, m, key, value, err)
	} else if k.op != load.Get {
		err = k.client.set(ctx, key, k.values.Fill(k.value, k.index, k.stamp))
	}
	if clock {
		m.Took(start, 1)
	}
	m.Ops++
	if k.op == load.Insert {
		k.stream.Settle(k.index)
	}
	switch {
	case err == nil && k.op == load.Get:
		return k.values.Check(value, k.index)
	case err == nil:
	case errors.Is(err, errMiss):
		m.Misses++
		k.owed = k.fills && k.op == load.Get
	case k.client.fatal(err), errors.Is(err, load.ErrValue):
		return err
	default:
		m.Refused(kindOf(err), err)
	}
	return nil
}

// modify puts the key of a get, with what the get has said.
func (k *caller) modify(ctx context.Context, m *load.Meter, key, value []byte, err error) error {
	switch {
	case err == nil:
		if err := k.values.Check(value, k.index); err != nil {
			return err
		}
	case errors.Is(err, errMiss):
		m.Misses++
	default:
		return err
	}
	return k.client.set(ctx, key, k.values.Fill(k.value, k.index, k.stamp))
}

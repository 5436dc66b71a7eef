package cache

import (
	"context"
	"errors"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/bench/internal/load"
	"github.com/remora-kv/remora/bench/internal/workload"
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
	stream *workload.Stream
	keys   workload.Keys
	values workload.Values
	key    []byte
	value  []byte
	buf    []byte
	fills  bool // misses are followed by puts
	owed   bool // the get before has missed
	index  uint64
	stamp  uint64
}

func newCaller(cl client, c *Case, stream *workload.Stream) *caller {
	k := &caller{
		client: cl, stream: stream, keys: workload.NewKeys(c.KeySize), values: workload.NewValues(c.ValueSize),
		buf: make([]byte, 0, c.ValueSize+remora.ItemOverhead), fills: c.Fill,
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

// next returns whether the next operation is a get: what a miss has left is put first.
func (k *caller) next() (get bool) {
	if k.owed {
		k.owed = false
		return false
	}
	k.index, get, k.stamp = k.stream.Next()
	return get
}

// one does one operation.
func (k *caller) one(ctx context.Context, m *load.Meter, clock bool) error {
	get := k.next()
	key := k.keys.Fill(k.key, k.index)
	if get {
		m.Gets++
	} else {
		k.values.Fill(k.value, k.index, k.stamp)
	}
	var start uint64
	if clock {
		start = cycles.Now()
	}
	var value []byte
	var err error
	if get {
		value, err = k.client.get(ctx, key, k.buf)
	} else {
		err = k.client.set(ctx, key, k.value)
	}
	if clock {
		m.Record(cycles.Now() - start)
	}
	switch {
	case err == nil && get:
		if err := k.values.Check(value, k.index); err != nil {
			return err
		}
	case err == nil:
	case errors.Is(err, errMiss):
		m.Misses++
		k.owed = k.fills && get
	case k.client.fatal(err):
		return err
	default:
		m.Errors++
		m.Why(err)
	}
	m.Ops++
	return nil
}

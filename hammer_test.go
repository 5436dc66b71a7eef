package remora_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/test/scale"
)

// describe makes a value that tells whose it is: key, number, filling, checksum.
func describe(key string, number uint64, size int) []byte {
	b := append([]byte(key), 0)
	b = binary.LittleEndian.AppendUint64(b, number)
	for len(b) < size {
		b = append(b, byte(len(b))^byte(number))
	}
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

// numberOf reads such a value back.
func numberOf(key string, value []byte) (uint64, error) {
	if len(value) < len(key)+13 || string(value[:len(key)+1]) != key+"\x00" {
		return 0, fmt.Errorf("%d bytes that are not of this key", len(value))
	}
	body, sum := value[:len(value)-4], binary.LittleEndian.Uint32(value[len(value)-4:])
	if crc32.ChecksumIEEE(body) != sum {
		return 0, errors.New("a value that was torn")
	}
	return binary.LittleEndian.Uint64(body[len(key)+1:]), nil
}

// worker changes keys of its own and reads those of all.
type worker struct {
	ops   ops
	name  int
	keys  int
	last  map[string]uint64 // what was read of others: it only grows
	rng   *rand.Rand
	own   []uint64 // numbers in its own keys; 0: not there
	sums  int64
	items []byte
}

func (w *worker) key(owner, i int) string { return fmt.Sprintf("worker %d key %d", owner, i) }

func (w *worker) step(ctx context.Context, n uint64, workers int) error {
	i := w.rng.IntN(w.keys)
	key := w.key(w.name, i)
	switch w.rng.IntN(8) {
	case 0, 1:
		if _, err := w.ops.Set(ctx, key, describe(key, n, w.rng.IntN(5000)), 0); err != nil {
			return err
		}
		w.own[i] = n
	case 2:
		err := w.ops.Delete(ctx, key)
		if there := w.own[i] != 0; there != (err == nil) || !there && !errors.Is(err, remora.ErrNotFound) {
			return fmt.Errorf("delete of a key that is there (%t): %w", there, err)
		}
		w.own[i] = 0
	case 3:
		w.sums++
		if _, err := w.ops.Incr(ctx, "sum", 1); err != nil {
			return err
		}
	case 4, 5:
		return w.read(ctx, key, &w.own[i])
	default:
		return w.read(ctx, w.key(w.rng.IntN(workers), i), nil)
	}
	return nil
}

// read checks a key; exactly is what must be there, nil if another worker has it.
func (w *worker) read(ctx context.Context, key string, exactly *uint64) error {
	item, err := w.ops.GetInto(ctx, key, w.items[:0])
	if errors.Is(err, remora.ErrNotFound) {
		if exactly != nil && *exactly != 0 {
			return fmt.Errorf("a key with number %d: %w", *exactly, err)
		}
		return nil
	}
	if err != nil {
		return err
	}
	w.items = item.Value
	n, err := numberOf(key, item.Value)
	if err != nil {
		return err
	}
	if exactly != nil && n != *exactly || n < w.last[key] {
		return fmt.Errorf("number %d after %d", n, w.last[key])
	}
	w.last[key] = n
	return nil
}

func TestManyGoroutines(t *testing.T) {
	const workers, sessions = 24, 4
	for _, name := range fabrics {
		steps := 200
		if name == provider.TCP || scale.Race {
			steps = 50
		}
		t.Run(name, func(t *testing.T) {
			r := newRig(t, name)
			r.serve(cores(3))
			c, ctx := r.dial(), testContext(t)
			if _, err := c.Set(ctx, "sum", []byte("0"), 0); err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			all := make([]*worker, workers)
			for i := range all {
				w := &worker{ops: c, name: i, keys: 5, own: make([]uint64, 5), last: map[string]uint64{}, rng: rand.New(rand.NewPCG(1, uint64(i)))}
				all[i] = w
				if i < sessions {
					w.ops = session(t, c, remora.WithBatch(1+i))
				}
				wg.Go(func() {
					for n := range steps {
						if err := w.step(ctx, uint64(n+1), workers); err != nil {
							t.Errorf("worker %d, step %d: %v", i, n, err)
							return
						}
					}
				})
			}
			wg.Wait()
			sum := int64(0)
			for _, w := range all {
				sum += w.sums
			}
			if got, err := c.Get(ctx, "sum"); err != nil || string(got) != fmt.Sprint(sum) {
				t.Errorf("the sum is %s, %v, want %d", got, err, sum)
			}
			if n := c.Counters(); n.Reconnects != 0 || n.Calls == 0 || n.Batches == 0 || n.Verbs.OutBytes == 0 {
				t.Errorf("counters: %+v", n)
			}
		})
	}
}

func TestGetMulti(t *testing.T) {
	for _, name := range fabrics {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, name)
			r.serve(cores(3))
			c, ctx := r.dial(remora.WithWindow(2)), testContext(t)
			var keys []string
			for i := range 500 {
				key := fmt.Sprint("key ", i)
				keys = append(keys, key)
				if i%3 != 0 {
					e := remora.Entry{Value: describe(key, uint64(i), i*7), Flags: uint32(i)}
					if _, err := c.Put(ctx, key, e, remora.Always()); err != nil {
						t.Fatal(err)
					}
				}
			}
			keys = append(keys, keys[1], keys[0]) // twice
			items, err := c.GetMulti(ctx, keys)
			if err != nil || len(items) != 333 {
				t.Fatalf("%d items, %v", len(items), err)
			}
			for i, key := range keys[:500] {
				item, ok := items[key]
				if ok != (i%3 != 0) || ok && (!bytes.Equal(item.Value, describe(key, uint64(i), i*7)) || item.Flags != uint32(i) || item.Version == 0) {
					t.Fatalf("%q: %t, %d bytes", key, ok, len(item.Value))
				}
			}
			if items, err := c.GetMulti(ctx, nil); err != nil || len(items) != 0 {
				t.Errorf("no keys: %v, %v", items, err)
			}
		})
	}
}

// Keys that had no answer at first are asked for again together.
func TestGetMultiAsksAgainTogether(t *testing.T) {
	const n, patience = 200, time.Minute
	var gets atomic.Int64
	var c *remora.Client
	var calls uint64
	r := newRig(t, "loop")
	r.serve(before(func(_ int, op command.Proc, _, out []byte) ([]byte, error, bool) {
		if op != command.Get {
			return nil, nil, false
		}
		switch gets.Add(1) {
		case n + 1: // the first that is asked for again
		case n + 2:
			// While this one has no answer, the client sends others.
			for end := time.Now().Add(patience); c.Counters().Calls-calls == n+2; runtime.Gosched() {
				if time.Now().After(end) {
					t.Error("one get at a time")
					break
				}
			}
		default:
			if gets.Load() <= n {
				return command.AppendStatus(out, command.Draining), nil, true
			}
		}
		return nil, nil, false
	}))
	ctx := testContext(t)
	c = r.dial()
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprint("key ", i)
		if _, err := c.Set(ctx, keys[i], []byte(keys[i]), 0); err != nil {
			t.Fatal(err)
		}
	}
	calls = c.Counters().Calls
	items, err := c.GetMulti(ctx, keys)
	if err != nil || len(items) != n {
		t.Fatalf("%d items, %v", len(items), err)
	}
}

func TestGetMultiErrors(t *testing.T) {
	r := newRig(t, "loop")
	r.serve()
	c, ctx := r.dial(remora.WithReconnectWait(0)), testContext(t)
	if _, err := c.Set(ctx, "a", nil, 0); err != nil {
		t.Fatal(err)
	}
	long := string(make([]byte, remora.MaxKey+1))
	items, err := c.GetMulti(ctx, []string{"a", long, "b"})
	var failed *remora.MultiError
	if !errors.As(err, &failed) || len(failed.Keys) != 1 || !errors.Is(failed.Keys[long], remora.ErrTooLarge) ||
		!errors.Is(err, remora.ErrTooLarge) || len(items) != 1 {
		t.Errorf("%d items, %v", len(items), err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	items, err = c.GetMulti(ended, []string{"a", "b"})
	if !errors.As(err, &failed) || len(failed.Keys) != 2 || !errors.Is(err, context.Canceled) ||
		!errors.Is(err, remora.ErrUnavailable) || len(items) != 0 {
		t.Errorf("%d items, %v", len(items), err)
	}
}

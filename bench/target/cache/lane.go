package cache

import (
	"context"
	"errors"
	"fmt"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/bench/target"
)

// lane is a connection on which operations are in flight. It belongs to one
// driver. Keys and values are not kept.
type lane interface {
	// get and put start an operation, whose result comes back with the slot. The
	// error is errFull until results were taken, or one that ends the lane.
	get(slot int, key []byte) error
	put(slot int, key, value []byte) error
	// drain sends what was started, waits for results, no longer than a tenth of a
	// second or until ctx ends, and gives them to the driver: as many as came with
	// the first, a frame or what was read. Its error ends the lane.
	drain(ctx context.Context, d *driver) error
	// poll is drain that does not wait.
	poll(d *driver) error
}

var (
	errFull = errors.New("the window is full")
	errMiss = errors.New("not found")
)

// sessionLane is a session of Remora.
type sessionLane struct {
	*remora.Session
	batch  int
	result remora.Result // taken last
}

func (l *sessionLane) get(slot int, key []byte) error {
	return started(l.StartGet(uint64(slot), view(key)))
}

func (l *sessionLane) put(slot int, key, value []byte) error {
	return started(l.StartPut(uint64(slot), view(key), remora.Entry{Value: value}, remora.Always()))
}

func started(err error) error {
	if err != nil && errors.Is(err, remora.ErrWindowFull) {
		return errFull
	}
	return err
}

func (l *sessionLane) drain(ctx context.Context, d *driver) error {
	if err := l.NextInto(ctx, &l.result); err != nil {
		return err
	}
	for n := l.batch; ; {
		if err := l.take(d, &l.result); err != nil {
			return err
		}
		if n--; n == 0 || d.idle() || !l.PollInto(&l.result) {
			return nil
		}
	}
}

func (l *sessionLane) poll(d *driver) error {
	l.Flush()
	for l.PollInto(&l.result) {
		if err := l.take(d, &l.result); err != nil {
			return err
		}
	}
	return nil
}

func (l *sessionLane) take(d *driver, r *remora.Result) error {
	if r.Err == nil {
		return d.take(int(r.Tag), r.Item.Value, nil)
	}
	if said := answered(r.Err); said != nil {
		return d.take(int(r.Tag), nil, said)
	}
	return r.Err
}

// answered is what the server says by an error; nil when it says nothing.
func answered(err error) error {
	var lost *remora.LostError
	switch {
	case errors.Is(err, remora.ErrNotFound):
		return errMiss
	case errors.As(err, &lost), errors.Is(err, remora.ErrClosed), errors.Is(err, remora.ErrProtocol):
		return nil
	}
	return err
}

// pipelineLane is a connection with memcached or Redis. Answers come in order.
type pipelineLane struct {
	*target.Pipeline
	slots []int // of the requests in flight: a ring
	first int
	count int
}

func newPipelineLane(conn *target.Pipeline, most int) *pipelineLane {
	return &pipelineLane{Pipeline: conn, slots: make([]int, most)}
}

func (l *pipelineLane) push(slot int) {
	i := l.first + l.count
	if i >= len(l.slots) {
		i -= len(l.slots)
	}
	l.slots[i] = slot
	l.count++
}

func (l *pipelineLane) get(slot int, key []byte) error {
	l.push(slot)
	return l.Get(key)
}

func (l *pipelineLane) put(slot int, key, value []byte) error {
	l.push(slot)
	return l.Set(key, value)
}

func (l *pipelineLane) drain(_ context.Context, d *driver) error {
	a, ok, err := l.Next()
	for err == nil && ok {
		if err := l.take(d, a); err != nil {
			return err
		}
		a, ok, err = l.Poll()
	}
	return err
}

func (l *pipelineLane) poll(d *driver) error {
	a, ok, err := l.TryNext()
	for err == nil && ok {
		if err := l.take(d, a); err != nil {
			return err
		}
		a, ok, err = l.Poll()
	}
	return err
}

func (l *pipelineLane) take(d *driver, a target.Answer) error {
	if l.count == 0 {
		return fmt.Errorf("%w: nothing was asked, and the answer is %q", target.ErrProtocol, a.Value)
	}
	slot := l.slots[l.first]
	if l.first++; l.first == len(l.slots) {
		l.first = 0
	}
	l.count--
	switch a.Kind {
	case target.Found, target.Stored:
		return d.take(slot, a.Value, nil)
	case target.Miss:
		return d.take(slot, nil, errMiss)
	case target.Failed:
	}
	return d.take(slot, nil, a.Err())
}

package driver_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/remora-kv/remora/rpc/driver"
)

// lander is an echo whose results come a few bytes at a time, to where they are wanted.
type lander struct {
	echo
	room   func(n int) []byte
	stride int         // bytes that come with a poll
	stop   int         // how many come before permit; 0: all
	permit atomic.Bool // all may come
	// spoil may have the caller of a result that is landing give up; then no more of it comes
	// before Leave.
	spoil func(arg []byte) bool
	came  atomic.Int64 // of the result that comes

	asked  bool
	spoilt bool
	target []byte // room's, or its own
	lent   bool
	lands  int // results that landed
	leaves int
}

func (l *lander) Land(room func(n int) []byte) { l.room = room }

func (l *lander) Leave() {
	if l.leaves++; l.lent {
		l.target, l.lent = bytes.Clone(l.target), false
	}
}

func (l *lander) Poll() bool {
	if !l.echo.Poll() {
		return false
	}
	defer l.enter()()
	if l.err != nil {
		return true
	}
	whole := l.queue[0]
	if !l.asked {
		l.asked = true
		if l.target = l.room(len(whole)); l.target == nil {
			l.target = make([]byte, len(whole))
		} else {
			l.lent = true
			l.spoilt = l.spoil != nil && l.spoil(whole)
		}
	}
	if l.spoilt && l.lent {
		return false
	}
	from := int(l.came.Load())
	to := min(from+l.stride, len(whole))
	if l.stop != 0 && !l.permit.Load() {
		to = min(to, l.stop)
	}
	copy(l.target[from:], whole[from:to])
	l.came.Store(int64(to))
	return to == len(whole)
}

func (l *lander) Next() ([]byte, error, bool) {
	if !l.Poll() || l.err != nil {
		return nil, nil, false // the reason is in Err
	}
	l.queue = l.queue[1:]
	if l.lent {
		l.lands++
	}
	l.asked, l.lent, l.polled = false, false, 0
	l.came.Store(0)
	return l.target, nil, true
}

// Results are written to the memory of their callers, and to none whose caller has returned
// (D7): callers that give up write there at once.
func TestLanding(t *testing.T) {
	conn := &lander{echo: echo{window: 3, polls: 2}, stride: 3}
	spoilt := 0
	var cancels sync.Map // of calls that are to be given up while they land
	conn.spoil = func(arg []byte) bool {
		cancel, ok := cancels.Load(string(arg))
		if ok {
			spoilt++
			cancel.(context.CancelFunc)() //lint:ignore errcheck nothing else is in there
		}
		return ok
	}
	c := driver.New(conn)
	var wg sync.WaitGroup
	var given, inPlace atomic.Int64
	const callers, each = 16, 100
	for i := range callers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(2, uint64(i)))
			for n := range each {
				ctx, cancel := context.WithCancel(context.Background())
				arg := fmt.Sprintf("caller %d call %d", i, n)
				if rng.IntN(3) == 0 {
					cancels.Store(arg, cancel)
				}
				buf := append(make([]byte, 0, 64), "> "...)
				got, err := c.Call(ctx, &driver.Message{Head: []byte(arg)}, buf)
				cancel()
				switch {
				case errors.Is(err, context.Canceled):
					given.Add(1)
					clear(buf[:cap(buf)]) // the race detector sees any other writer
				case err != nil || string(got) != "> "+arg:
					t.Errorf("%q, %v, want %q", got, err, "> "+arg)
				case &got[0] == &buf[0]:
					inPlace.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if err := c.Close(); err != nil || conn.shared {
		t.Errorf("%v; two at once: %t", err, conn.shared)
	}
	// A call may have its result after its memory was given back, and before it is given up.
	const calls = callers * each
	if conn.lands == 0 || conn.leaves == 0 || conn.leaves != spoilt || conn.lands+conn.leaves != calls ||
		given.Load() == 0 || int(given.Load()) > conn.leaves || inPlace.Load() != calls-given.Load() {
		t.Errorf("%d landed, %d are in the buffers of their callers; %d calls were given up, %d times memory was given back",
			conn.lands, inPlace.Load(), given.Load(), conn.leaves)
	}
}

// stopped is a client whose results stop after four bytes, and a call of which four have come.
func stopped(ctx context.Context, buf []byte) (c *driver.Client, conn *lander, ended chan error) {
	conn = &lander{echo: echo{window: 4}, stride: 1, stop: 4}
	c, ended = driver.New(conn), make(chan error, 1)
	go func() {
		_, err := c.Call(ctx, &driver.Message{Head: []byte("result")}, buf)
		ended <- err
	}()
	for conn.came.Load() < 4 {
		runtime.Gosched()
	}
	return c, conn, ended
}

// A caller gives up in the middle of its result, whether it drives or another one does; what is left of
// the result comes elsewhere, and the next one to where it is wanted.
func TestGivingUpWhileLanding(t *testing.T) {
	for _, other := range []bool{false, true} {
		ctx, cancel := context.WithCancel(context.Background())
		buf := make([]byte, 8)
		c, conn, ended := stopped(ctx, buf[:0])
		next := make(chan string, 1)
		call := func() {
			got, err := c.Call(context.Background(), &driver.Message{Head: []byte("another")}, nil)
			next <- fmt.Sprint(string(got), err)
		}
		if other {
			go call() // it parks, and is to drive when the first one is gone
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("a call that was given up: %v", err)
		}
		if string(buf[:4]) != "resu" {
			t.Errorf("%q has come", buf)
		}
		copy(buf, "........")
		conn.permit.Store(true)
		if !other {
			go call()
		}
		if got := <-next; got != "another<nil>" {
			t.Errorf("the next call: %s", got)
		}
		if err := c.Close(); err != nil || string(buf) != "........" || conn.leaves == 0 || conn.lands != 1 {
			t.Errorf("%v; %q is in memory that was given back; %d leaves, %d landed", err, buf, conn.leaves, conn.lands)
		}
	}
}

// A driver may leave while the result of another caller lands; that caller goes on.
func TestDriverGoesWhileAnotherLands(t *testing.T) {
	conn := &lander{echo: echo{window: 4}, stride: 1, stop: 4}
	c := driver.New(conn)
	first := c.Go(&driver.Message{Head: []byte("result")}, nil)
	ctx, cancel := context.WithCancel(context.Background())
	drove, got := make(chan error, 1), make(chan string, 1)
	go func() {
		_, err := c.Call(ctx, &driver.Message{Head: []byte("drives")}, nil)
		drove <- err
	}()
	for conn.came.Load() < 4 {
		runtime.Gosched()
	}
	go func() {
		out, err := first.Wait(context.Background())
		got <- fmt.Sprint(string(out), err)
	}()
	for range 1000 {
		runtime.Gosched() // so that it waits; if not yet, that is no fault
	}
	cancel()
	if err := <-drove; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	conn.permit.Store(true)
	if s := <-got; s != "result<nil>" || conn.lands != 1 {
		t.Errorf("%s; %d landed", s, conn.lands)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// A connection that ends, or is closed, in the middle of a result fails the call, and nothing is written
// to its memory after that.
func TestEndWhileLanding(t *testing.T) {
	for _, closes := range []bool{false, true} {
		buf := make([]byte, 8)
		c, conn, ended := stopped(context.Background(), buf[:0])
		if closes {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		} else {
			conn.Disconnect()
		}
		if err := <-ended; err == nil {
			t.Error("a call succeeded whose result has not come")
		}
		if conn.lent || conn.leaves == 0 {
			t.Errorf("closed: %t; the connection keeps memory of its caller", closes)
		}
		_ = c.Close()
	}
}

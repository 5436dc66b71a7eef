package driver

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/remora-kv/remora/rpc"
)

// Client makes calls from any number of goroutines over one connection.
type Client struct {
	conn   Conn
	token  atomic.Bool  // a caller drives
	parked atomic.Int64 // callers that wait for a signal
	asleep atomic.Bool  // the driver waits and may sleep

	mu     sync.Mutex
	intake []*Pending  // calls that no driver has seen
	news   atomic.Bool // intake is not empty
	closed bool

	// Of the driver.
	waiting []*Pending // not sent for want of room, in order
	sweepAt int        // how many may wait before abandoned ones are looked for
	sent    []*Pending // ring: without a result, in order
	first   int
	count   int
	woken   int      // callers whose calls have ended since the driver yielded
	checked int      // of sent and waiting, how many have had their contexts checked
	lander  Lander   // the connection, if it is one
	landing *Pending // the call whose result is being written to its caller's memory, nil if none
	more    func() bool
}

// Pending is a call in flight.
//
// The fields touched when its result comes are together: with a thousand calls in flight
// they are in no cache.
type Pending struct {
	client  *Client
	state   atomic.Uint32
	parked  atomic.Bool // the caller waits for the signal
	watched bool        // the driver checks end
	// unwanted says that the caller gives up, while its result is landing.
	unwanted atomic.Bool
	signal   chan struct{}   // done, or: drive
	end      <-chan struct{} // of the caller's context
	out      []byte
	err      error

	message Message
}

// The states of a call. While a call is busy the driver reads its argument or writes
// its result, and a caller that gives up waits for that. While it is landing the
// connection writes its result, which takes longer: the caller stops it.
const (
	stateQueued uint32 = iota
	stateBusy
	stateSent
	stateLanding
	stateAbandoned
	stateDone
)

// New makes a client of a connection, which it owns from now on.
func New(conn Conn) *Client {
	c := &Client{conn: conn, sent: make([]*Pending, 64), sweepAt: minSweep}
	c.more = func() bool { return c.conn.Poll() || c.news.Load() }
	if l, ok := conn.(Lander); ok {
		c.lander = l
		l.Land(c.room)
	}
	return c
}

var pendings = sync.Pool{New: func() any { return &Pending{signal: make(chan struct{}, 1)} }}

// Call makes a call and returns its result appended to out. Even with an error it may
// overwrite the capacity of out behind its length. The message may be used again when Call
// returns. The error is an *rpc.Error if the handler failed, that of ctx if ctx ended,
// otherwise the reason why the call could not be sent or the connection is over. Unless it is
// rpc.ErrNotSent too, the server may have served the call. A call whose context has ended is
// not sent.
func (c *Client) Call(ctx context.Context, m *Message, out []byte) ([]byte, error) {
	if ctx.Err() != nil {
		return out, notSent(givenUp(ctx, m))
	}
	p, _ := pendings.Get().(*Pending)
	p.client, p.out, p.err = c, out, nil
	p.watched, p.end = true, ctx.Done()
	p.message.set(m)
	p.state.Store(stateQueued)
	c.submit(p)
	err := p.wait(ctx)
	out = p.out
	if p.state.Load() == stateDone {
		p.out, p.end = nil, nil
		if p.unwanted.Load() {
			p.unwanted.Store(false)
		}
		pendings.Put(p)
	}
	return out, err
}

// Go starts a call and returns at once. Wait, which must be called, returns the result.
// Neither the message nor out may be touched until Wait returns.
func (c *Client) Go(m *Message, out []byte) *Pending {
	p := &Pending{client: c, message: *m, out: out, signal: make(chan struct{}, 1)}
	c.submit(p)
	if c.token.CompareAndSwap(false, true) {
		c.advance()
		c.release()
	}
	return p
}

// Wait waits for the result; see Client.Call. It is called once.
func (p *Pending) Wait(ctx context.Context) ([]byte, error) {
	err := p.wait(ctx)
	return p.out, err
}

// Done reports whether Wait would return at once. It does not drive the
// connection.
func (p *Pending) Done() bool { return p.state.Load() == stateDone }

func (c *Client) submit(p *Pending) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		if p.claim(stateQueued) {
			p.refuse(rpc.ErrClosed)
		}
		return
	}
	c.intake = append(c.intake, p)
	c.news.Store(true)
	c.mu.Unlock()
	if c.asleep.Load() {
		c.conn.Wake()
	}
}

// claim makes a call busy. It returns false if the caller has given up.
func (p *Pending) claim(from uint32) bool { return p.state.CompareAndSwap(from, stateBusy) }

// finish ends a busy call. data is copied.
func (p *Pending) finish(data []byte, err error) {
	p.out, p.err = append(p.out, data...), err
	p.state.Store(stateDone)
	p.wake()
}

// refuse ends a busy call that was not sent.
func (p *Pending) refuse(err error) {
	p.message.release()
	p.finish(nil, notSent(err))
}

func (p *Pending) wake() {
	select {
	case p.signal <- struct{}{}:
	default:
	}
}

// driveWait bounds how long a driver goes without looking at its context.
const driveWait = time.Millisecond

// wait drives the connection, or waits for the caller that does.
func (p *Pending) wait(ctx context.Context) error {
	c, queued := p.client, false
	for p.state.Load() != stateDone {
		if c.token.CompareAndSwap(false, true) {
			c.drive(ctx, p)
			c.release()
		} else {
			p.park(ctx)
		}
		if p.state.Load() != stateDone && ctx.Err() != nil && p.abandon(&queued) {
			// It may have been this caller's turn to drive.
			if c.token.CompareAndSwap(false, true) {
				c.release()
			}
			err := givenUp(ctx, &p.message)
			if queued {
				err = notSent(err)
			}
			return err
		}
	}
	return p.err
}

// givenUp is the error of a call whose context has ended.
func givenUp(ctx context.Context, m *Message) error {
	return fmt.Errorf("call of procedure %d: %w", m.Proc, context.Cause(ctx))
}

// park waits until the call is done, or it is this caller's turn to drive.
func (p *Pending) park(ctx context.Context) {
	c := p.client
	p.parked.Store(true)
	c.parked.Add(1)
	// A driver that released the token before it could see this caller parked looks again.
	if c.token.Load() && p.state.Load() != stateDone {
		if p.watched {
			<-p.signal
		} else {
			select {
			case <-p.signal:
			case <-ctx.Done():
			}
		}
	}
	p.parked.Store(false)
	c.parked.Add(-1)
}

// abandon gives up a call. It returns false if the call is over already, and sets queued
// if the call had not been sent.
func (p *Pending) abandon(queued *bool) bool {
	for {
		switch s := p.state.Load(); s {
		case stateDone:
			return false
		case stateBusy:
			runtime.Gosched() // for the time of a copy
		case stateLanding:
			p.quit()
		default:
			if p.state.CompareAndSwap(s, stateAbandoned) {
				p.out, *queued = nil, s == stateQueued
				p.message.release() // the driver keeps the call for a time, but reads nothing of it (D4)
				return true
			}
		}
	}
}

// drive drives the connection until p is done or its context is.
func (c *Client) drive(ctx context.Context, p *Pending) {
	done := ctx.Done()
	for p.state.Load() != stateDone {
		if c.advance(); p.state.Load() == stateDone {
			return
		}
		if done != nil && ctx.Err() != nil {
			return
		}
		if c.yield() {
			c.checkContexts(checkBusy)
			continue
		}
		c.checkContexts(checkIdle)
		c.asleep.Store(true)
		if !c.news.Load() {
			c.conn.WaitMore(c.more, driveWait)
		}
		c.asleep.Store(false)
	}
}

// yield lets callers whose calls have ended run, so that their next calls are sent
// together.
func (c *Client) yield() bool {
	if c.woken == 0 {
		return false
	}
	c.woken = 0
	runtime.Gosched()
	return true
}

// advance sends what can be sent and takes the results that are there.
func (c *Client) advance() {
	c.checkLanding()
	if c.news.Load() {
		c.mu.Lock()
		c.waiting = append(c.waiting, c.intake...)
		clear(c.intake)
		c.intake = c.intake[:0]
		c.news.Store(false)
		c.mu.Unlock()
	}
	c.sendWaiting()
	c.takeResults(turn)
	if c.conn.Err() != nil {
		c.failAll(c.conn.Err())
	}
}

// sendWaiting sends as many calls as there is room for.
func (c *Client) sendWaiting() {
	if len(c.waiting) == 0 || c.conn.Err() != nil {
		return
	}
	n := 0
	for n < len(c.waiting) {
		p := c.waiting[n]
		if !p.claim(stateQueued) {
			n++ // abandoned
			continue
		}
		err := c.conn.Send(&p.message)
		if errors.Is(err, rpc.ErrWindowFull) {
			p.state.Store(stateQueued)
			break
		}
		n++
		if err != nil {
			p.refuse(err)
			continue
		}
		p.message.release()
		p.state.Store(stateSent)
		c.push(p)
	}
	c.waiting = slices.Delete(c.waiting, 0, n)
	c.sweep()
	c.conn.Flush()
}

// minSweep is how many calls may wait at least before abandoned ones are looked for.
const minSweep = 64

// sweep drops abandoned calls whenever so many wait that half of them may be abandoned.
func (c *Client) sweep() {
	if len(c.waiting) <= c.sweepAt {
		return
	}
	c.waiting = slices.DeleteFunc(c.waiting, func(p *Pending) bool { return p.state.Load() == stateAbandoned })
	c.sweepAt = max(minSweep, 2*len(c.waiting))
}

func (c *Client) push(p *Pending) {
	if c.count == len(c.sent) {
		bigger := make([]*Pending, 2*len(c.sent))
		n := copy(bigger, c.sent[c.first:])
		copy(bigger[n:], c.sent[:c.first])
		c.sent, c.first = bigger, 0
	}
	c.sent[(c.first+c.count)%len(c.sent)] = p
	c.count++
}

func (c *Client) pop() *Pending {
	p := c.sent[c.first]
	c.sent[c.first] = nil
	c.first = (c.first + 1) % len(c.sent)
	c.count--
	return p
}

// turn is after how many results a driver lets their callers run. If it took all of them,
// nothing would be in flight while the callers prepare their next calls, and the server
// would go to sleep.
const turn = 32

// takeResults takes results that are there, at most so many.
func (c *Client) takeResults(most int) {
	for n := 0; n < most && c.count != 0; n++ {
		data, err, ok := c.conn.Next()
		if !ok {
			return
		}
		c.end(c.pop(), data, err)
	}
}

// end ends a call that was sent, unless its caller gave up.
func (c *Client) end(p *Pending, data []byte, err error) {
	if c.landing != nil {
		data = c.landed(p, data)
	}
	if p.claim(stateSent) {
		p.finish(data, err)
		c.woken++
	}
}

// notSent marks err as that of a call that was never sent, unless the connection has.
func notSent(err error) error {
	if errors.Is(err, rpc.ErrNotSent) {
		return err
	}
	return fmt.Errorf("%w: %w", rpc.ErrNotSent, err)
}

// failAll takes all results that are there, and ends exactly the calls that have none.
func (c *Client) failAll(err error) {
	c.takeResults(c.count)
	for c.count != 0 {
		c.end(c.pop(), nil, err)
	}
	for _, p := range c.waiting {
		if p.claim(stateQueued) {
			p.refuse(err)
		}
	}
	c.waiting = nil
}

// release returns the token and wakes a parked caller to drive, if there is one (D2). It
// looks again afterwards: a caller that found the token taken may have parked after the
// first look, or given up after it was chosen.
func (c *Client) release() {
	for {
		next := c.successor()
		c.token.Store(false)
		if next != nil {
			if next.wake(); next.state.Load() != stateAbandoned {
				return
			}
		}
		if c.parked.Load() == 0 {
			return
		}
		runtime.Gosched() // it may have been woken and wait for a processor
		if c.parked.Load() == 0 || !c.token.CompareAndSwap(false, true) {
			return
		}
		c.advance()
	}
}

// successor returns a call whose caller can drive.
func (c *Client) successor() *Pending {
	for i := range c.count {
		if p := c.sent[(c.first+i)%len(c.sent)]; p.parked.Load() && p.state.Load() != stateAbandoned {
			return p
		}
	}
	for _, p := range c.waiting {
		if p.parked.Load() && p.state.Load() == stateQueued {
			return p
		}
	}
	return nil
}

// Close ends the connection; calls without a result fail.
func (c *Client) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return rpc.ErrClosed
	}
	c.closed = true
	c.mu.Unlock()
	for !c.token.CompareAndSwap(false, true) {
		c.conn.Disconnect()
		c.conn.Wake()
		runtime.Gosched()
	}
	c.advance()
	c.failAll(rpc.ErrClosed)
	return c.conn.Close() // the token stays taken: no caller drives any more
}

package fabrictest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// The two sides exchange messages, one JSON value each:
//
//	begin     client: run the case that Text names, as number Case
//	said      what the case itself says, in Body
//	finished  this side ran the case to its end
//	failed    it failed, for the reason in Text
//	skipped   it was skipped, for the reason in Text
//	over      there are no more cases; the answer is the same
//
// A message of a case that is over at the receiver is never looked at, one of
// a case that has not begun there yet waits for it.
type message struct {
	Case int
	Kind string
	Text string          `json:",omitempty"`
	Body json.RawMessage `json:",omitempty"`
}

const (
	begin = "begin"
	said  = "said"
	over  = "over"
)

// verdict is how a case ended at one side.
type verdict string

const (
	finished verdict = "finished"
	failed   verdict = "failed"
	skipped  verdict = "skipped"
)

// backlog is how many messages of one case may wait.
const backlog = 1024

// control is the connection to the other side.
type control struct {
	writing sync.Mutex
	out     *json.Encoder

	mu    sync.Mutex
	boxes map[int]*mailbox

	program chan message  // begin and over
	gone    chan struct{} // closed when nothing comes any more
	cause   error         // why, set before
}

// mailbox takes the messages of one case.
type mailbox struct {
	said     chan message
	verdicts chan message
	arrived  chan struct{} // holds one after a message has arrived
}

func newControl(rw io.ReadWriter) *control {
	c := &control{
		out: json.NewEncoder(rw), boxes: map[int]*mailbox{},
		program: make(chan message, backlog), gone: make(chan struct{}),
	}
	go c.read(json.NewDecoder(rw))
	return c
}

// read sorts messages until the last.
func (c *control) read(in *json.Decoder) {
	for {
		var m message
		if err := in.Decode(&m); err != nil {
			c.cause = fmt.Errorf("the other side is gone: %w", err)
			close(c.gone)
			return
		}
		box := c.box(m.Case)
		to := box.verdicts
		switch m.Kind {
		case begin, over:
			to = c.program
		case said:
			to = box.said
		}
		select {
		case to <- m:
		default:
			c.cause = fmt.Errorf("%d messages of the other side were not read", backlog)
			close(c.gone)
			return
		}
		select {
		case box.arrived <- struct{}{}:
		default:
		}
		if m.Kind == over {
			return
		}
	}
}

// box returns the mailbox of a case.
func (c *control) box(number int) *mailbox {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.boxes[number]
	if b == nil {
		b = &mailbox{said: make(chan message, backlog), verdicts: make(chan message, backlog), arrived: make(chan struct{}, 1)}
		c.boxes[number] = b
	}
	return b
}

func (c *control) send(m message) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	return c.out.Encode(m)
}

// next waits for begin or over.
func (c *control) next(limit time.Duration) (message, error) {
	return c.take(c.program, limit)
}

// hear waits for what the other side says in a case.
func (c *control) hear(number int, v any, limit time.Duration) error {
	m, err := c.take(c.box(number).said, limit)
	if err != nil {
		return err
	}
	return json.Unmarshal(m.Body, v)
}

func (c *control) take(from chan message, limit time.Duration) (message, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case m := <-from:
		return m, nil
	default:
	}
	select {
	case m := <-from:
		return m, nil
	case <-c.gone:
		return message{}, c.cause
	case <-timer.C:
		return message{}, errors.New("it said nothing in time")
	}
}

func (c *control) isGone() bool {
	select {
	case <-c.gone:
		return true
	default:
		return false
	}
}

// encode makes a body. What the suite says can always be encoded.
func encode(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("fabrictest: %T: %v", v, err))
	}
	return b
}

package path

import (
	"context"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/rpc/driver"
)

// Shared is a connection with one core for any number of goroutines.
type Shared struct {
	driver *driver.Client
	conn   *Conn
}

// Share makes a connection one for any number of goroutines, and takes it over.
func Share(conn *Conn) *Shared { return &Shared{driver.New(conn), conn} }

// Call calls a procedure for a key with the hash, with the argument head and, behind it, body,
// and appends its result to out: see driver.Client.Call.
func (s *Shared) Call(ctx context.Context, op command.Proc, hash uint64, head, body, out []byte) ([]byte, error) {
	return s.driver.Call(ctx, &driver.Message{Proc: uint16(op), Class: class, Hint: hash, Head: head, Body: body}, out)
}

// CallCore calls a procedure that is not about a key.
func (s *Shared) CallCore(ctx context.Context, op command.Proc, arg []byte) ([]byte, error) {
	return s.driver.Call(ctx, &driver.Message{Proc: uint16(op), Class: uint8(op), Head: arg}, nil)
}

// Hello greets the server again.
func (s *Shared) Hello(ctx context.Context) (*command.Welcome, error) {
	result, err := s.driver.Call(ctx, hello(), nil)
	if err != nil {
		return nil, err
	}
	return ParseWelcome(result)
}

// Pending is a call in flight. Its Wait must be called.
type Pending = driver.Pending

// StartGet starts a get and returns at once. key must stay as it is until Wait returns.
func (s *Shared) StartGet(hash uint64, key []byte) *Pending {
	return s.driver.Go(&driver.Message{Proc: uint16(command.Get), Class: class, Hint: hash, Head: key}, nil)
}

// HasReader is Conn.HasReader.
func (s *Shared) HasReader() bool { return s.conn.HasReader() }

// Counters is Conn.Counters, from any goroutine.
func (s *Shared) Counters() Counters { return s.conn.Counters() }

// Close closes the connection.
func (s *Shared) Close() error { return s.driver.Close() }

// Counters are what a connection has done. The fields are those of remora.Counters.
type Counters struct {
	Calls, Batches              uint64
	Fetches, Misses, Replies    uint64
	OneSidedReads, OneSidedHits uint64
	Verbs                       fabric.Counters
}

// Counters returns what the connection has done.
func (c *Conn) Counters() Counters {
	s := c.rfp.Stats()
	n := Counters{
		Calls: s.Calls, Batches: s.Frames, Fetches: s.Fetches, Misses: s.Misses, Replies: s.Replies, Verbs: c.rfp.Counters(),
	}
	if c.small != nil {
		calls, replies := c.small.calls()
		v := c.small.Counters()
		n.Calls += calls
		n.Batches += calls
		n.Replies += replies
		n.Verbs.Add(&v)
	}
	if c.reader != nil {
		s, v := c.reader.conn.Stats(), c.reader.conn.Counters()
		n.Calls += s.Searches
		n.OneSidedReads = s.Searches
		n.OneSidedHits = c.reader.proven.Load()
		n.Verbs.Add(&v)
	}
	return n
}

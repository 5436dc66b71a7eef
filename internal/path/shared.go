package path

import (
	"context"

	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/rpc/driver"
)

// Shared is a connection with one core for any number of goroutines.
type Shared struct {
	driver *driver.Client
	conn   *Conn
}

// Call calls a procedure for a key with the hash, with the argument head and, behind it, body,
// and appends its result to out: see driver.Client.Call.
func (s *Shared) Call(ctx context.Context, op command.Proc, hash uint64, head, body, out []byte) ([]byte, error) {
	return s.driver.Call(ctx, &driver.Message{Proc: uint16(op), Class: class, Hint: hash, Head: head, Body: body}, out)
}

// CallCore calls a procedure that is not about a key.
func (s *Shared) CallCore(ctx context.Context, op command.Proc, arg []byte) ([]byte, error) {
	return s.driver.Call(ctx, &driver.Message{Proc: uint16(op), Class: uint8(op), Head: arg}, nil)
}

// hello greets the server again.
func (s *Shared) hello(ctx context.Context) (*command.Welcome, error) {
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

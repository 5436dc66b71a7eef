package fabric

import (
	"errors"
	"fmt"
)

// The errors of the contract. Providers wrap them with what happened to what.
var (
	// ErrUnsupported: the transport or the device has no such operation.
	ErrUnsupported = errors.New("not supported")
	// ErrQueueFull: poll completions, then post the rest (G12).
	ErrQueueFull = errors.New("queue full")
	// ErrCQTooSmall: the queue pair's depths might overflow its CQ (G12).
	ErrCQTooSmall = errors.New("completion queue too small")
	// ErrClosed: the object was closed by this side.
	ErrClosed = errors.New("closed")
	// ErrBusy: something still uses the object.
	ErrBusy = errors.New("in use")
	// ErrRefused: there is no listener, or its backlog is full.
	ErrRefused = errors.New("connection refused")
	// ErrDisconnected: the peer ended the connection in order.
	ErrDisconnected = errors.New("disconnected by peer")
	// ErrPeerLost: the peer died or cannot be reached.
	ErrPeerLost = errors.New("peer lost")
	// ErrProtocol: the peer broke the provider's protocol.
	ErrProtocol = errors.New("protocol violation by peer")
	// ErrCompletion: a work request failed.
	ErrCompletion = errors.New("work request failed")
	// ErrInvalid: an argument or configuration is wrong.
	ErrInvalid = errors.New("invalid argument")
)

// CompletionError is a failed work request.
type CompletionError struct {
	Op     Op
	Status Status
	QPN    uint32
	ID     uint64
}

// Error implements error.
func (e *CompletionError) Error() string {
	return fmt.Sprintf("fabric: %v (id %#x, queue pair %d): %v", e.Op, e.ID, e.QPN, e.Status)
}

// Is makes errors.Is(err, ErrCompletion) true, and ErrPeerLost for
// StatusPeerLost.
func (e *CompletionError) Is(target error) bool {
	return target == ErrCompletion ||
		(target == ErrPeerLost && e.Status == StatusPeerLost) ||
		(target == ErrProtocol && e.Status == StatusProtocol)
}

// PostError is a work request that is wrong in itself. Those before it in the
// chain were posted.
type PostError struct {
	// Index is its place in the chain.
	Index int
	// Err says what is wrong; it wraps ErrInvalid or ErrUnsupported.
	Err error
}

// Error implements error.
func (e *PostError) Error() string {
	return fmt.Sprintf("fabric: work request %d: %v", e.Index, e.Err)
}

// Unwrap returns Err.
func (e *PostError) Unwrap() error { return e.Err }

// DialError is why Dial could not connect.
type DialError struct {
	Addr Addr
	Err  error
}

// Error implements error.
func (e *DialError) Error() string { return fmt.Sprintf("fabric: dial %v: %v", e.Addr, e.Err) }

// Unwrap returns the reason.
func (e *DialError) Unwrap() error { return e.Err }

// RejectedError is the refusal of a connection by the program at the other
// end, with the private data that it gave.
type RejectedError struct{ Private []byte }

// Error implements error.
func (e *RejectedError) Error() string {
	if len(e.Private) == 0 {
		return "connection rejected by the server"
	}
	return fmt.Sprintf("connection rejected by the server: %q", e.Private)
}

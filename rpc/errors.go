package rpc

import (
	"errors"
	"fmt"
)

// Codes of failures that the library itself makes. Programs use codes from
// CodeUser on.
const (
	// CodeFailed: the handler returned an error that has no code.
	CodeFailed uint16 = 1 + iota
	// CodeMalformed: the request is not one.
	CodeMalformed
	// CodeNoProcedure: nobody handles this procedure.
	CodeNoProcedure
	// CodeTooLarge: request or result is longer than the server allows.
	CodeTooLarge

	CodeUser uint16 = 1024
)

// Error is a failure that came from the other end.
type Error struct {
	Code uint16
	Text string
}

// Error implements error.
func (e *Error) Error() string {
	if e.Text == "" {
		return fmt.Sprintf("rpc: the call failed with code %d", e.Code)
	}
	return e.Text
}

// Is makes errors with the same code equal to errors.Is.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// Failure returns code and text under which an error of a handler travels.
func Failure(err error) (code uint16, text string) {
	var e *Error
	if errors.As(err, &e) {
		return e.Code, e.Text
	}
	return CodeFailed, err.Error()
}

// The errors of connections.
var (
	// ErrWindowFull: take results before sending more.
	ErrWindowFull = errors.New("rpc: the window is full")
	// ErrTooLarge: the message is longer than the server takes.
	ErrTooLarge = errors.New("rpc: message too large")
	// ErrClosed: the connection was closed by this side.
	ErrClosed = errors.New("rpc: connection closed")
	// ErrNotSent: the connection was over before the message was sent. It comes
	// with the reason. A call that fails otherwise may have been served.
	ErrNotSent = errors.New("rpc: not sent")
	// ErrProtocol: the peer broke the protocol.
	ErrProtocol = errors.New("rpc: protocol violation by peer")
)

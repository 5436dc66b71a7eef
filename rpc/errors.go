package rpc

import (
	"errors"
	"fmt"
)

// Codes of failures that the library returns. Programs use codes from CodeUser
// on.
const (
	// CodeFailed: the handler returned an error without a code.
	CodeFailed uint16 = 1 + iota
	// CodeMalformed: the request is malformed.
	CodeMalformed
	// CodeNoProcedure: the server has no handler for the procedure.
	CodeNoProcedure
	// CodeTooLarge: request or result is longer than the server allows.
	CodeTooLarge
	// CodePanic: the handler panicked.
	CodePanic

	CodeUser uint16 = 1024
)

// Error is a failure that the peer returned.
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

// Is reports whether target is an *Error with the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// Failure returns the code and the text that a client receives for an error of
// a handler.
func Failure(err error) (code uint16, text string) {
	var e *Error
	if errors.As(err, &e) {
		return e.Code, e.Text
	}
	return CodeFailed, err.Error()
}

// The errors of connections.
var (
	// ErrWindowFull: the window is full. Take results before sending more.
	ErrWindowFull = errors.New("rpc: the window is full")
	// ErrTooLarge: the message is longer than the server takes.
	ErrTooLarge = errors.New("rpc: message too large")
	// ErrClosed: the connection was closed by this side.
	ErrClosed = errors.New("rpc: connection closed")
	// ErrNotSent: the message was not sent, because the connection or the context ended
	// before, or the message cannot be sent; the error wraps the reason. A call that fails
	// with another error may have been served.
	ErrNotSent = errors.New("rpc: not sent")
	// ErrProtocol: the peer broke the protocol.
	ErrProtocol = errors.New("rpc: protocol violation by peer")
)

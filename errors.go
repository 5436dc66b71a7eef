package remora

import (
	"errors"
	"fmt"

	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/rpc"
)

// What operations return, for errors.Is.
var (
	// ErrNotFound: there is no such item. It may have been there and been
	// evicted or have expired.
	ErrNotFound = errors.New("remora: no such item")
	// ErrExists: Add found an item.
	ErrExists = errors.New("remora: the item exists")
	// ErrChanged: the item has another version. Get it again, and decide anew.
	ErrChanged = errors.New("remora: the item has changed: get it again")
	// ErrTooLarge: the key or the value is longer than the server takes. Nothing
	// was stored.
	ErrTooLarge = errors.New("remora: too large")
	// ErrOutOfMemory: the server keeps what it has and has no room for more.
	// Nothing was stored.
	ErrOutOfMemory = errors.New("remora: the server is out of memory: delete items, or start it with more")
	// ErrNotNumber: Incr found a value that is not a decimal number, or the sum
	// does not fit into 64 bits. Nothing has changed.
	ErrNotNumber = errors.New("remora: the value is not a decimal number, or would not fit into 64 bits")
	// ErrUnsupported: the server cannot do this. Nothing has changed.
	ErrUnsupported = errors.New("remora: the server does not support this operation")
	// ErrInvalid: an argument or an option makes no sense. Nothing was sent.
	ErrInvalid = errors.New("remora: invalid argument")
	// ErrClosed: the client or the session was closed by this program.
	ErrClosed = errors.New("remora: closed")
	// ErrProtocol: the server answered something that is no answer. It is of
	// another version, or not a Remora server.
	ErrProtocol = errors.New("remora: the server broke the protocol: are both of the same version?")

	// ErrUnavailable: the server cannot be reached and the operation has
	// certainly not happened. It can be repeated.
	ErrUnavailable = errors.New("remora: server unavailable")
	// ErrUnknown: there is no answer, and the operation may have happened or
	// not. Only the program knows whether it can be repeated.
	ErrUnknown = errors.New("remora: outcome unknown")
)

// LostError is an operation without an answer: the connection was lost, the
// context ended, or the client was closed. It is ErrUnknown if the operation may
// have happened, otherwise ErrUnavailable, and it is its reason.
type LostError struct {
	// Op is the operation, such as get, or dial.
	Op string
	// Addr is the address of the server.
	Addr string
	// Sent says that the operation may have happened.
	Sent bool
	// Err is the reason.
	Err error
}

// Error implements error.
func (e *LostError) Error() string {
	switch {
	case e.Op == opDial:
		return fmt.Sprintf("remora: cannot connect to %s: %v", e.Addr, e.Err)
	case e.Sent:
		return fmt.Sprintf("remora: %s at %s may have happened or not, check before it is repeated: %v", e.Op, e.Addr, e.Err)
	}
	return fmt.Sprintf("remora: %s at %s has not happened and may be repeated: %v", e.Op, e.Addr, e.Err)
}

// opDial is the Op of errors of Dial and of Client.Session.
const opDial = "dial"

// Unwrap returns the reason.
func (e *LostError) Unwrap() error { return e.Err }

// Is makes the error ErrUnknown or ErrUnavailable.
func (e *LostError) Is(target error) bool {
	return e.Sent && target == ErrUnknown || !e.Sent && target == ErrUnavailable
}

// statusErrors are the errors of the statuses that need no explanation.
var statusErrors = [...]error{
	command.NotFound:    ErrNotFound,
	command.Exists:      ErrExists,
	command.Changed:     ErrChanged,
	command.TooLarge:    ErrTooLarge,
	command.Full:        ErrOutOfMemory,
	command.NotNumber:   ErrNotNumber,
	command.WrongCore:   errWrongCore,
	command.Unsupported: ErrUnsupported,
	command.Draining:    errDraining,
}

// errWrongCore says that the server has a map that is not ours.
var errWrongCore = fmt.Errorf("the core that the key belongs to by the server's own word refuses it: %w", ErrProtocol)

// errDraining says that the server is about to end and did nothing.
var errDraining = errors.New("the server is shutting down")

// statusError is the error of a status.
func statusError(s command.Status) error {
	if int(s) < len(statusErrors) {
		return statusErrors[s]
	}
	return ErrProtocol
}

// failure is the error of a call that failed at the server.
func failure(op command.Proc, e *rpc.Error) error {
	kind := ErrProtocol
	switch e.Code {
	case rpc.CodeTooLarge:
		kind = ErrTooLarge
	case rpc.CodeNoProcedure:
		kind = ErrUnsupported
	case rpc.CodeMalformed:
	default:
		return fmt.Errorf("remora: %s failed at the server: %w", op, e)
	}
	return fmt.Errorf("remora: %s was refused: %w: %w", op, kind, e)
}

package remora

import (
	"errors"
	"fmt"

	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/internal/path"
	"github.com/remora-kv/remora/rpc"
)

// The errors of operations, for errors.Is.
var (
	// ErrNotFound: there is no such item. It may have been evicted, or have expired.
	ErrNotFound = errors.New("remora: no such item")
	// ErrExists: Add found an item.
	ErrExists = errors.New("remora: the item exists")
	// ErrChanged: the item has another version. Get it again, and decide anew.
	ErrChanged = errors.New("remora: the item has changed: get it again")
	// ErrTooLarge: the key or the value is longer than the server allows. Nothing
	// was stored.
	ErrTooLarge = errors.New("remora: too large")
	// ErrOutOfMemory: the server evicts nothing (Info.Mode) and has no room left.
	// Nothing was stored.
	ErrOutOfMemory = errors.New("remora: the server is out of memory: delete items, or start it with more")
	// ErrNotNumber: Incr found a value that is not a decimal number, or the sum
	// does not fit into 64 bits. Nothing has changed.
	ErrNotNumber = errors.New("remora: the value is not a decimal number, or would not fit into 64 bits")
	// ErrUnsupported: the server cannot do this. Nothing has changed.
	ErrUnsupported = path.ErrUnsupported
	// ErrInvalid: an argument or an option is invalid. Nothing was sent.
	ErrInvalid = path.ErrInvalid
	// ErrClosed: the client or the session was closed by this program.
	ErrClosed = path.ErrClosed
	// ErrProtocol: the answer of the server is malformed. The server has another
	// version, or is not a Remora server.
	ErrProtocol = path.ErrProtocol

	// ErrUnavailable: the server cannot be reached and the operation has
	// certainly not happened. It can be repeated.
	ErrUnavailable = errors.New("remora: server unavailable")
	// ErrUnknown: there is no answer, and the operation may have happened or
	// not. The program has to decide whether to repeat it.
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
		return fmt.Sprintf("remora: no answer to %s from %s, which may have happened or not (check before you repeat it): %v", e.Op, e.Addr, e.Err)
	}
	return fmt.Sprintf("remora: %s at %s has not happened, and can be repeated: %v", e.Op, e.Addr, e.Err)
}

// opDial is the Op of errors of Dial and of Client.Session.
const opDial = "dial"

// Unwrap returns the reason.
func (e *LostError) Unwrap() error { return e.Err }

// Is makes the error ErrUnknown or ErrUnavailable.
func (e *LostError) Is(target error) bool {
	return e.Sent && target == ErrUnknown || !e.Sent && target == ErrUnavailable
}

// statusErrors are the errors of statuses.
var statusErrors = [...]error{
	command.NotFound:    ErrNotFound,
	command.Exists:      ErrExists,
	command.Changed:     ErrChanged,
	command.TooLarge:    ErrTooLarge,
	command.Full:        ErrOutOfMemory,
	command.NotNumber:   ErrNotNumber,
	command.WrongCore:   errWrongCore,
	command.Unsupported: ErrUnsupported,
	command.Draining:    path.ErrDraining,
}

// errWrongCore says that the server distributes keys to cores in another way than it said.
var errWrongCore = fmt.Errorf("the core refuses a key that the server assigned to it: %w", ErrProtocol)

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
	return fmt.Errorf("remora: the server refused %s: %w: %w", op, kind, e)
}

// malformed is the error of a result that cannot be read.
func malformed(op command.Proc, result []byte) error {
	n, least := len(result), op.MinResult()
	if n < least {
		return fmt.Errorf("malformed result (%d bytes, want at least %d): %w", n, least, ErrProtocol)
	}
	return fmt.Errorf("malformed result (%d bytes, status byte %#02x): %w", n, result[n-1], ErrProtocol)
}

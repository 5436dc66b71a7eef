package keli

import (
	"errors"
	"fmt"
)

// The errors of clients, beside kvl.ErrCorrupt and those of a context. Compare with
// errors.Is.
var (
	// ErrNotFound: there is no item with this key.
	ErrNotFound = errors.New("keli: no such item")
	// ErrGeneration: the link is of another generation than the session. See
	// GenerationError.
	ErrGeneration = errors.New("keli: link of another generation")
	// ErrGenerationOver: the generation was replaced, and its lease ended. Refresh, or begin
	// again with a lookup.
	ErrGenerationOver = errors.New("keli: generation over")
	// ErrEmpty: the server has no generation yet.
	ErrEmpty = errors.New("keli: nothing published yet")
	// ErrUnavailable: the server cannot be reached, and could not be within the patience of
	// the client.
	ErrUnavailable = errors.New("keli: server unavailable")
	// ErrClosed: the client, session or server was closed.
	ErrClosed = errors.New("keli: closed")
	// ErrBusy: a function that was called by a session called the session.
	ErrBusy = errors.New("keli: session in use")
	// ErrProtocol: the server says what makes no sense.
	ErrProtocol = errors.New("keli: protocol violation by server")
	// ErrFull: there are as many generations as the server may have. Publish again when the
	// lease of the oldest is over.
	ErrFull = errors.New("keli: too many generations")
	// ErrNotAllowed: the server lets no client have it load again.
	ErrNotAllowed = errors.New("keli: not allowed by the server")
	// ErrNotPublished: the generation that was asked for could not be made.
	ErrNotPublished = errors.New("keli: not published")
	// ErrInvalid: an argument is wrong.
	ErrInvalid = errors.New("keli: invalid argument")
)

// GenerationError says which generations did not fit. It is ErrGeneration.
type GenerationError struct {
	// Link is that of the link, as far as it says: the low 32 bits. Session is that of the
	// session.
	Link    uint32
	Session uint64
}

// Error implements error.
func (e *GenerationError) Error() string {
	return fmt.Sprintf("%v: it is of %d, the session is in %d (its low bits: %d)", ErrGeneration, e.Link, e.Session, uint32(e.Session))
}

// Is makes errors.Is(err, ErrGeneration) true.
func (e *GenerationError) Is(target error) bool { return target == ErrGeneration }

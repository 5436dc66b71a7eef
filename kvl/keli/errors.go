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
	// ErrUnavailable: the server could not be reached for as long as the client was willing to
	// wait (WithReconnectWait).
	ErrUnavailable = errors.New("keli: server unavailable")
	// ErrClosed: the client, session or server was closed.
	ErrClosed = errors.New("keli: closed")
	// ErrBusy: a function that a session calls has called the session.
	ErrBusy = errors.New("keli: session in use")
	// ErrProtocol: the server broke the protocol.
	ErrProtocol = errors.New("keli: protocol violation by server")
	// ErrFull: the server has as many generations as Config.Generations allows. Publish again
	// when the lease of the oldest is over.
	ErrFull = errors.New("keli: too many generations")
	// ErrNotAllowed: the server does not let clients request a reload.
	ErrNotAllowed = errors.New("keli: not allowed by the server")
	// ErrNotPublished: the build of the requested generation failed.
	ErrNotPublished = errors.New("keli: not published")
	// ErrInvalid: an argument is wrong.
	ErrInvalid = errors.New("keli: invalid argument")
)

// GenerationError names the generations of a link and a session that differ. It is ErrGeneration.
type GenerationError struct {
	// Link is the low 32 bits of the link's generation, and Session the session's.
	Link    uint32
	Session uint64
}

// Error implements error.
func (e *GenerationError) Error() string {
	return fmt.Sprintf("%v: the link is of %d, the session is in %d (low bits: %d)", ErrGeneration, e.Link, e.Session, uint32(e.Session))
}

// Is makes errors.Is(err, ErrGeneration) true.
func (e *GenerationError) Is(target error) bool { return target == ErrGeneration }

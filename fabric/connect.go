package fabric

import (
	"context"
	"time"
)

// DefaultBacklog and DefaultHandshake are used where ListenConfig says 0.
const (
	DefaultBacklog   = 128
	DefaultHandshake = 5 * time.Second
)

// ListenConfig describes a listener.
type ListenConfig struct {
	// Backlog is how many connection requests may wait for Accept; a dialer
	// beyond that is refused with ErrRefused. 0 means 128.
	Backlog int
	// HandshakeTimeout bounds how long a connecting peer may take to send its
	// request. 0 means 5 seconds.
	HandshakeTimeout time.Duration
	// Mode is the file mode of a socket file (shm). 0 means 0600, and 0666 when other
	// users are allowed.
	Mode uint32
	// AllowUIDs are users, and AllowGIDs groups whose members may connect, beside our own
	// user and root (shm). The mode of the socket file must let them in as well.
	AllowUIDs, AllowGIDs []int
	// Report, when not nil, is called with each connection that was closed or refused before
	// Accept could return its request, from any goroutine.
	Report func(error)
}

// Listener waits for connections.
type Listener interface {
	// Addr returns the address, with the port that the system chose for port 0.
	Addr() Addr
	// Accept waits for the next connection request. After Close it returns
	// ErrClosed.
	Accept(ctx context.Context) (ConnRequest, error)
	// Close stops listening and refuses what waits. Accepted queue pairs go
	// on.
	Close() error
}

// ConnRequest is a peer that wants a connection. It must be accepted or
// rejected, once.
type ConnRequest interface {
	// Transport is what the peer asks for: RC or UC.
	Transport() Transport
	// Private is the peer's private data.
	Private() []byte
	// Peer says who asks.
	Peer() Peer
	// Accept makes the queue pair. cfg.Transport must equal Transport. private
	// is shown to the dialer. A configuration that is refused leaves the
	// request open: it can be accepted with another, or rejected.
	Accept(ctx context.Context, cfg QPConfig, private []byte) (QP, error)
	// Reject refuses; private is shown to the dialer in its RejectedError.
	Reject(private []byte) error
}

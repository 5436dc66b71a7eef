package fabric

import (
	"strconv"
	"time"
)

// State is the state of a queue pair.
type State uint32

// The states. A queue pair is ready when its maker returns it.
const (
	StateReady State = iota
	StateError
	StateClosed
)

// String returns the state in words.
func (s State) String() string {
	switch s {
	case StateReady:
		return "ready"
	case StateError:
		return "error"
	case StateClosed:
		return "closed"
	}
	return "State(" + strconv.Itoa(int(s)) + ")"
}

// RNRForever as QPConfig.RNRTimeout waits for a receive without end.
const RNRForever time.Duration = -1

// QPConfig describes a queue pair to be made. Dial, Accept and NewUD validate
// it and report all that is wrong with it in one error.
type QPConfig struct {
	Transport Transport
	Domain    Domain
	// SendCQ and RecvCQ take the completions; they may be the same. Both are
	// of the same device and the same owner (T1).
	SendCQ, RecvCQ CQ
	// SendDepth and RecvDepth are the lengths of the queues. 0 means 128.
	SendDepth, RecvDepth int
	// RNRTimeout bounds how long an RC SEND or WRITE_IMM waits for the peer to
	// post a receive (G9). 0 fails at once, RNRForever waits forever.
	RNRTimeout time.Duration
	// MaxInline and MaxSegs are how many bytes inline and how many segments a request or
	// receive of this queue pair may have; Post and PostRecv refuse more. 0 is as many as the
	// device can do (Limits), NoInline no bytes. Adapters keep room for them in every
	// entry of the queues, in memory that they read for each request.
	MaxInline, MaxSegs int
}

// NoInline as QPConfig.MaxInline is of a queue pair without inline requests.
const NoInline = -1

// DefaultDepth is the length of a queue when QPConfig says 0.
const DefaultDepth = 128

// QP is a queue pair. Post, PostRecv and Close belong to its owner (T1).
type QP interface {
	// Num returns the number of the queue pair, unique on its device.
	Num() uint32
	// Transport returns the type.
	Transport() Transport
	// Post appends work requests to the send queue and starts them. It returns
	// how many were posted, and an error when that is not all: ErrQueueFull,
	// ErrUnsupported, ErrClosed, or a *PostError for a request that is wrong
	// in itself. It does not block and does not allocate.
	Post(wrs []WR) (int, error)
	// PostRecv appends receives, likewise.
	PostRecv(wrs []RecvWR) (int, error)
	// State returns the state.
	State() State
	// Err returns why the queue pair is not ready: an error that wraps
	// ErrDisconnected, ErrPeerLost, ErrProtocol, ErrCompletion or ErrClosed;
	// nil while ready.
	Err() error
	// Done is closed when the queue pair leaves StateReady.
	Done() <-chan struct{}
	// PeerPrivate returns the private data that the other side gave at
	// connect. Nil on UD.
	PeerPrivate() []byte
	// Peer says who is at the other end. Zero on UD.
	Peer() Peer
	// Address returns what a peer gives to NewAddressHandle to reach this
	// datagram queue pair; at most 128 bytes. Nil on RC and UC, and where it cannot be
	// had: then the queue pair is in StateError, and Err says why.
	Address() []byte
	// Owns returns an error if the fabric knows that a datagram address is not of the
	// peer: on tcp, if it is at another host than the one that connected. Who sends
	// datagrams where a peer says must ask first, or the peer can turn them on others.
	Owns(addr []byte) error
	// Counters returns the counts of this queue pair, out-bound and in-bound.
	Counters() Counters
	// Disconnect ends the connection for both sides (G13) and returns without
	// waiting. It may be called from any goroutine and more than once.
	Disconnect() error
	// Close disconnects and releases the queue pair (T4). Completions not yet
	// polled are discarded. A second Close returns ErrClosed.
	Close() error
}

// Peer says who is at the other end of a connection, as far as the provider
// can prove it.
type Peer struct {
	// Addr is where the peer is, for logs.
	Addr string
	// PID, UID and GID are proven by the kernel on shm; HasCred says so.
	PID, UID, GID int
	HasCred       bool
}

package tcp

import (
	"time"

	"github.com/remora-kv/remora/fabric"
)

// Config describes a device. The zero value is a working one.
type Config struct {
	// Name is what Device.Name returns. Empty means "tcp".
	Name string
	// Host is the IP address under which peers reach the datagram queue pairs
	// of this device. Empty means that of the first listener or connection,
	// else that of the default route, else 127.0.0.1.
	Host string
	// Clock is what everything goes by; it must run with real time, because
	// sockets do. Nil means the machine's.
	Clock fabric.Clock
	// PeerTimeout is after how long without a sign of life a peer counts as
	// lost (G13). 0 means 10 seconds; the resolution is a second.
	PeerTimeout time.Duration
	// Spin is how long the background thread looks for more work before it
	// blocks. 0 means DefaultSpin, less than 0 not at all.
	Spin time.Duration
	// SocketBuffer is the size of the kernel's buffers of each connection, in
	// each direction. 0 leaves it to the kernel, which adapts them.
	SocketBuffer int
}

const (
	// DefaultSpin is how long the background thread spins before it blocks.
	DefaultSpin = 50 * time.Microsecond
	// DefaultPeerTimeout is after how long a silent peer is lost.
	DefaultPeerTimeout = 10 * time.Second
)

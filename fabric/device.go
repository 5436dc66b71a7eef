package fabric

import "context"

// Limits are what a device can do. Zero-valued fields mean "cannot".
type Limits struct {
	MaxInline  int // bytes of inline data in one request
	MaxSegs    int // segments in one request
	MaxDepth   int // entries in one send or receive queue
	MaxCQDepth int // completions in one completion queue
	MaxMessage int // bytes of one RC or UC message or one-sided operation
	MTU        int // bytes of one datagram; path MTU of connected transports
	MaxReads   int // READs and atomics in flight per queue pair; more wait
	MaxPrivate int // bytes of private data at connect; at least 56
	MaxRegion  int // bytes of one region
	UC, UD     bool
	Atomics    bool
	InOrder    bool // READs and WRITEs of the device and on its memory keep the address order (G2, G4, G5)
	Mapped     bool // peers reach regions by loads and stores, in pages that take no memory before they are touched
}

// GRHSize is the length of the header in front of a received datagram (G16).
const GRHSize = 40

// Device is one NIC, or software in place of one. All methods may be called from
// any goroutine.
type Device interface {
	// Fabric returns the provider's name: loop, shm, tcp or verbs.
	Fabric() string
	// Name returns the device's own name, such as mlx5_0.
	Name() string
	// Limits returns what the device can do. It does not change.
	Limits() Limits
	// Clock returns the clock that everything on this device goes by.
	Clock() Clock
	// Counters returns the sums over all queue pairs, past ones included.
	Counters() Counters
	// Memory returns what the device holds, by purpose: its regions, unless they are memory
	// of the Go heap, and its buffers. It asks the kernel which pages are in RAM, and takes
	// milliseconds for a GiB.
	Memory() []Usage
	// NewDomain makes a protection domain.
	NewDomain() (Domain, error)
	// NewCQ makes a completion queue for at least depth completions.
	NewCQ(depth int) (CQ, error)
	// NewWaiter makes a waiter over completion queues of this device.
	NewWaiter(cfg WaitConfig) (Waiter, error)
	// Listen waits for connections at an address of this provider. Listen and Dial refuse
	// an address with an option that the provider does not know (ErrInvalid).
	Listen(addr Addr, cfg ListenConfig) (Listener, error)
	// Dial connects to a listener and returns an RC or UC queue pair that is
	// ready for use. private (at most Limits.MaxPrivate bytes) is shown to the
	// acceptor; what it answers is QP.PeerPrivate. Refusal is a RejectedError,
	// the error without a listener wraps ErrRefused. One between users that must not
	// connect wraps fs.ErrPermission (shm). ctx bounds the attempt only.
	Dial(ctx context.Context, addr Addr, cfg QPConfig, private []byte) (QP, error)
	// Close breaks every queue pair, stops every listener and releases the
	// device. Regions and queues that are still open become unusable. Their
	// owners must have stopped posting and polling.
	Close() error
}

// Domain is a protection domain.
type Domain interface {
	// Alloc registers size bytes of new, zeroed memory, for which peers have
	// the given rights. purpose names it in memory statistics.
	Alloc(purpose string, size int, access Access) (*Region, error)
	// NewUD makes a datagram queue pair in this domain; cfg.Transport must be
	// UD, and cfg.Domain is ignored.
	NewUD(cfg QPConfig) (QP, error)
	// NewAddressHandle makes addr, as QP.Address returned it at the peer, a
	// destination for datagrams of this domain.
	NewAddressHandle(ctx context.Context, addr []byte) (AddressHandle, error)
	// Close releases the domain. While it has regions or queue pairs it
	// returns ErrBusy.
	Close() error
}

// AddressHandle is a destination for datagrams. It may be shared by the queue
// pairs of one domain that have the same owner (T1).
type AddressHandle interface {
	// Close releases the handle. No request that names it may be outstanding.
	Close() error
}

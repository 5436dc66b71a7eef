package serving

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
)

// Acceptor listens for the clients of a server: at several addresses, until it stops or
// is closed. Any goroutine may call its methods.
type Acceptor struct {
	cfg    *Config
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	most   atomic.Int64  // clients, at most cfg.MaxClients
	next   atomic.Uint64 // core of the next client that leaves the choice to the server

	mu        sync.Mutex
	closed    bool
	listeners map[fabric.Listener]struct{}
}

// HandshakeTime bounds the making of a connection.
const HandshakeTime = 10 * time.Second

// maxBacklog bounds the queue of a listener, which is allocated.
const maxBacklog = 1 << 16

// NewAcceptor returns an acceptor that listens nowhere yet.
func NewAcceptor(cfg *Config) *Acceptor {
	a := &Acceptor{cfg: cfg, listeners: map[fabric.Listener]struct{}{}}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	a.most.Store(int64(cfg.MaxClients))
	return a
}

// Handshake returns a context for a step of a handshake. It ends when the acceptor is
// closed, or when the step has taken too long.
func (a *Acceptor) Handshake() (context.Context, context.CancelFunc) {
	return context.WithTimeout(a.ctx, HandshakeTime)
}

// MaxClients returns how many clients there can be now.
func (a *Acceptor) MaxClients() int64 { return a.most.Load() }

// SetMaxClients changes how many clients there can be, to at most the number that the
// server was made for. Clients that there are go on.
func (a *Acceptor) SetMaxClients(n int) error {
	if n < 1 || n > a.cfg.MaxClients {
		return fmt.Errorf("%s: server: limit of %d clients is not between 1 and %d, the limit at start: %w",
			a.cfg.Path, n, a.cfg.MaxClients, fabric.ErrInvalid)
	}
	a.most.Store(int64(n))
	return nil
}

// Listen accepts clients at an address of a device. It returns the address that was
// really taken.
func (a *Acceptor) Listen(dev fabric.Device, addr fabric.Addr, cfg fabric.ListenConfig) (fabric.Addr, error) {
	if !slices.Contains(a.cfg.Devices, dev) {
		return fabric.Addr{}, fmt.Errorf("%s: server: %v is not on a device of this server: %w", a.cfg.Path, addr, fabric.ErrInvalid)
	}
	if cfg.Backlog == 0 { // as many clients as can be served may dial at the same moment
		cfg.Backlog = min(max(a.cfg.MaxClients*a.cfg.Cores, fabric.DefaultBacklog), maxBacklog)
	}
	if cfg.Report == nil {
		cfg.Report = func(err error) { a.cfg.Log.Warn("connection refused", "err", err) }
	}
	l, err := dev.Listen(addr, cfg)
	if err != nil {
		return fabric.Addr{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		_ = l.Close()
		return fabric.Addr{}, fmt.Errorf("%s: server: %w", a.cfg.Path, rpc.ErrClosed)
	}
	a.listeners[l] = struct{}{}
	a.wg.Go(func() { a.accept(dev, l); a.forget(l) })
	return l.Addr(), nil
}

// forget closes a listener that accepts no more, unless it is closed: clients are to be refused
// at its address, and not to wait.
func (a *Acceptor) forget(l fabric.Listener) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.listeners[l]; ok {
		delete(a.listeners, l)
		_ = l.Close()
	}
}

// accept admits each client by a goroutine of its own, so that one whose handshake takes long
// delays no other. Those goroutines are as many as clients that there is room for, since a client
// beyond that is refused without waiting for it.
func (a *Acceptor) accept(dev fabric.Device, l fabric.Listener) {
	for {
		req, err := l.Accept(a.ctx)
		if err != nil {
			if a.ctx.Err() == nil && !errors.Is(err, fabric.ErrClosed) {
				a.cfg.Log.Error("no more clients at this address", "addr", l.Addr().String(), "err", err)
			}
			return
		}
		a.wg.Go(func() { a.Admit(dev, req) })
	}
}

// Admit has the path accept a connection request, or refuses it with a reason.
func (a *Acceptor) Admit(dev fabric.Device, req fabric.ConnRequest) {
	ctx, cancel := a.Handshake()
	defer cancel()
	err := fmt.Errorf("%s is not served on this device", a.cfg.Path)
	if slices.Contains(a.cfg.Devices, dev) {
		err = a.cfg.Admit(ctx, dev, req)
	}
	if err != nil {
		Refuse(a.cfg.Log, dev, req, err)
	}
}

// Refuse rejects a connection request with a reason, as far as the device carries it.
func Refuse(log *slog.Logger, dev fabric.Device, req fabric.ConnRequest, why error) {
	log.Warn("client refused", "peer", req.Peer().Addr, "err", why)
	_ = req.Reject([]byte(cut(why.Error(), dev.Limits().MaxPrivate)))
}

// StopListening accepts no more clients at the addresses that there are.
func (a *Acceptor) StopListening() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closeListeners()
}

func (a *Acceptor) closeListeners() {
	for l := range a.listeners {
		_ = l.Close()
	}
	clear(a.listeners)
}

// Close accepts no more clients, and returns when none is being admitted. A second Close
// returns rpc.ErrClosed at once.
func (a *Acceptor) Close() error {
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return rpc.ErrClosed
	}
	a.closed = true
	a.closeListeners()
	a.mu.Unlock()
	a.cancel()
	a.wg.Wait()
	return nil
}

// Package gate has the servers of all paths listen: at several addresses, until they
// stop to take clients, or end.
package gate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
)

// Gate is where clients of a server come in. Any goroutine may call its methods.
type Gate struct {
	path   string // for errors
	log    *slog.Logger
	admit  func(dev fabric.Device, req fabric.ConnRequest)
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu        sync.Mutex
	closed    bool
	listeners map[fabric.Listener]struct{}
}

// New returns the gate of a server of a path. Requests are given to admit, those of one
// address one after the other.
func New(path string, log *slog.Logger, admit func(dev fabric.Device, req fabric.ConnRequest)) *Gate {
	g := &Gate{path: path, log: log, admit: admit, listeners: map[fabric.Listener]struct{}{}}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	return g
}

// Context ends when the gate is closed.
func (g *Gate) Context() context.Context { return g.ctx }

// Listen takes clients at an address of a device. It returns the address that was
// really taken.
func (g *Gate) Listen(dev fabric.Device, addr fabric.Addr, cfg fabric.ListenConfig) (fabric.Addr, error) {
	l, err := dev.Listen(addr, cfg)
	if err != nil {
		return fabric.Addr{}, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		_ = l.Close()
		return fabric.Addr{}, fmt.Errorf("%s: server: %w", g.path, rpc.ErrClosed)
	}
	g.listeners[l] = struct{}{}
	g.wg.Go(func() { g.accept(dev, l) })
	return l.Addr(), nil
}

// Stop takes no more clients at the addresses that there are.
func (g *Gate) Stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stop()
}

func (g *Gate) stop() {
	for l := range g.listeners {
		_ = l.Close()
	}
	clear(g.listeners)
}

// Close takes no more clients, and returns when none is being admitted. A second Close
// returns rpc.ErrClosed at once.
func (g *Gate) Close() error {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return rpc.ErrClosed
	}
	g.closed = true
	g.stop()
	g.mu.Unlock()
	g.cancel()
	g.wg.Wait()
	return nil
}

func (g *Gate) accept(dev fabric.Device, l fabric.Listener) {
	for {
		req, err := l.Accept(g.ctx)
		if err != nil {
			if g.ctx.Err() == nil && !errors.Is(err, fabric.ErrClosed) {
				g.log.Error("no more clients at this address", "addr", l.Addr().String(), "err", err)
			}
			return
		}
		g.admit(dev, req)
	}
}

package remora

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/command"
)

// Client is a client of one server, for any number of goroutines.
type Client struct {
	dialer
	cfg       config
	log       *slog.Logger
	link      atomic.Pointer[link]
	replacing chan struct{} // held by who replaces the link
	holders   *holders

	ctx    context.Context
	cancel context.CancelFunc
	mu     sync.Mutex // guards the change of closed and, with it, starts of goroutines
	closed atomic.Bool
	wg     sync.WaitGroup

	ledger              ledger
	reconnects, retries atomic.Uint64
}

// Dial connects to a server, with each of its cores. url is its address:
// shm:/path/to.sock, tcp://host:port, rdma://host:port or loop:name, with options
// of the fabric and ?path=. ctx bounds the attempt. There is one attempt: when the
// server cannot be reached the error is ErrUnavailable.
func Dial(ctx context.Context, url string, opts ...Option) (*Client, error) {
	cfg := defaults()
	for _, o := range opts {
		if o != nil {
			o(&cfg)
		}
	}
	addr, err := parseAddr(url, &cfg)
	if err = errors.Join(err, cfg.validate()); err != nil {
		return nil, err
	}
	cfg.settle(addr.Fabric)
	dev, err := openDevice(addr, &cfg)
	if err != nil {
		return nil, err
	}
	c := &Client{
		dialer: dialer{addr: addr, name: addr.String(), device: dev, clock: dev.Clock()},
		cfg:    cfg, log: cfg.log, replacing: make(chan struct{}, 1),
		holders: &holders{n: 1},
	}
	if cfg.device == nil {
		c.holders.device = dev
	}
	conns, w, err := c.connectAll(ctx, &cfg, nil, nil)
	if err != nil {
		_ = c.holders.leave()
		return nil, c.dialError(err)
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.link.Store(c.newLink(w, conns))
	c.log.Debug("connected", "addr", c.name, "cores", w.Cores, "fabric", dev.Fabric(), "device", dev.Name())
	return c, nil
}

// dialError is the error of Dial. What a second attempt could change is
// ErrUnavailable.
func (d *dialer) dialError(err error) error {
	if errors.Is(err, ErrProtocol) || errors.Is(err, ErrUnsupported) ||
		errors.Is(err, fabric.ErrUnsupported) || errors.Is(err, fabric.ErrInvalid) {
		return fmt.Errorf("remora: dial %s: %w", d.name, err)
	}
	return &LostError{Op: opDial, Addr: d.name, Err: err}
}

// holders counts who uses the device of a client: itself and its sessions.
type holders struct {
	mu     sync.Mutex
	n      int
	device fabric.Device // nil when it is not ours to close
}

func (h *holders) join() {
	h.mu.Lock()
	h.n++
	h.mu.Unlock()
}

func (h *holders) leave() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.n--; h.n == 0 && h.device != nil {
		return h.device.Close()
	}
	return nil
}

// Close ends all connections of the client. Operations under way fail with
// ErrClosed, and it is in the error too whether they may have happened. Sessions
// fail with ErrClosed from now on; they are closed by their own goroutines. A
// second Close returns ErrClosed.
func (c *Client) Close() error {
	c.mu.Lock()
	if c.closed.Load() {
		c.mu.Unlock()
		return ErrClosed
	}
	c.closed.Store(true)
	c.mu.Unlock()
	c.cancel()
	c.end(c.link.Load())
	c.wg.Wait()
	return c.holders.leave()
}

// Ping asks every core for a sign of life.
func (c *Client) Ping(ctx context.Context) error {
	_, err := c.everyCore(ctx, command.Hello, command.AppendHello(nil))
	return err
}

// Stats returns what each core counts, one JSON document per core.
func (c *Client) Stats(ctx context.Context) ([]json.RawMessage, error) {
	all, err := c.everyCore(ctx, command.Stats, nil)
	if err != nil {
		return nil, err
	}
	docs := make([]json.RawMessage, len(all))
	for core, text := range all {
		if !json.Valid(text) {
			return nil, c.lost(command.Stats, true, errMalformed)
		}
		docs[core] = text
	}
	return docs, nil
}

// everyCore calls a procedure on all cores at the same time and returns what each
// of them said.
func (c *Client) everyCore(ctx context.Context, op command.Proc, req []byte) ([][]byte, error) {
	for {
		l := c.link.Load()
		all, errs := make([][]byte, len(l.lanes)), make([]error, len(l.lanes))
		var wg sync.WaitGroup
		for core := range l.lanes {
			wg.Go(func() { all[core], errs[core] = c.askCore(ctx, l, core, op, req) })
		}
		wg.Wait()
		err := errors.Join(errs...)
		if errors.Is(err, errReplaced) {
			continue // there are others now
		}
		return all, err
	}
}

// Info is what is known about the server and the way to it.
type Info struct {
	// Addr is the address of the server, Fabric and Device are what it is reached
	// by, and Path is how results return.
	Addr, Fabric, Device string
	Path                 Path
	// Version is that of the server's program, and Instance tells its starts apart.
	Version  string
	Instance uint64
	Cores    int
	// MaxValue is the longest value that it takes.
	MaxValue int
	// Engine keeps the items, and Mode says what happens when memory is full.
	Engine, Mode string
	// Links says that items can be read where they are (WithLinks), by who comes to the first
	// of the server's addresses. It is false, too, when this client's way to them was refused.
	Links bool
}

// Info returns what the server said when it was connected to last.
func (c *Client) Info() Info {
	w := c.link.Load().welcome
	return Info{
		Addr: c.name, Fabric: c.device.Fabric(), Device: c.device.Name(), Path: c.cfg.path,
		Version: w.Version, Instance: w.Instance, Cores: w.Cores, MaxValue: w.MaxValue, Engine: w.Engine, Mode: w.Mode, Links: w.Links,
	}
}

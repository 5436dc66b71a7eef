package keli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/kvl"
)

// Client reads items. Any number of goroutines may call its methods, which use sessions of a pool.
// Items that they return are copies; items that they pass to a function are valid until the
// function returns.
//
// A client finds the generation of a link among those that it knows.
type Client struct {
	opts      options
	addr      fabric.Addr
	device    fabric.Device
	own       bool // the device is ours to close
	clock     fabric.Clock
	snapshots snapshots
	closed    atomic.Bool
	over      chan struct{} // closed by Close

	idle chan *Session // the pool
	mu   sync.Mutex
	made int // sessions for idle
	held int // open sessions, and one for the client
}

// Dial connects to a server. url is its address: shm:/path/to.sock, tcp://host:port,
// rdma://host:port or loop:name, with options of the fabric. Dial tries once; ctx bounds the
// attempt.
func Dial(ctx context.Context, url string, opts ...Option) (*Client, error) {
	c := &Client{opts: defaultOptions(), over: make(chan struct{}), held: 1}
	for _, o := range opts {
		o(&c.opts)
	}
	var err error
	if c.addr, err = fabric.ParseAddr(url); err != nil {
		err = fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if err = errors.Join(err, c.opts.validate()); err != nil {
		return nil, err
	}
	if err := c.open(); err != nil {
		return nil, err
	}
	c.clock, c.idle = c.device.Clock(), make(chan *Session, c.opts.sessions)
	s := c.session()
	c.made = 1
	if err := s.connect(ctx); err != nil {
		_ = s.Close()
		_ = c.Close()
		return nil, s.unavailable(err)
	}
	c.idle <- s
	return c, nil
}

// open opens the device of the address.
func (c *Client) open() (err error) {
	if c.device = c.opts.device; c.device != nil {
		return nil
	}
	if c.addr.Fabric == provider.Loop {
		return fmt.Errorf("%w: %s can be reached only from a device of the same network: use WithDevice", ErrInvalid, c.addr)
	}
	set := provider.New()
	set.Log = c.opts.log
	if c.device, err = set.Open(c.addr.String()); err != nil {
		return fmt.Errorf("keli: %w", err)
	}
	c.own = true
	return nil
}

func (c *Client) log() *slog.Logger { return c.opts.log }

// Session returns a session with connections of its own, which are made when it is first
// used. The caller closes it.
func (c *Client) Session() (*Session, error) {
	if c.closed.Load() {
		return nil, ErrClosed
	}
	return c.session(), nil
}

func (c *Client) session() *Session {
	c.mu.Lock()
	c.held++
	c.mu.Unlock()
	return newSession(c)
}

// release is called when a session is closed, and when the client is. The last call closes the
// device.
func (c *Client) release() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held--; c.held == 0 && c.own {
		return c.device.Close()
	}
	return nil
}

// Close ends the client. Its sessions fail with ErrClosed from now on; the goroutines that use
// them close them. A second Close returns ErrClosed.
func (c *Client) Close() error {
	if c.closed.Swap(true) {
		return ErrClosed
	}
	close(c.over)
	c.drain()
	return c.release()
}

// drain closes the sessions of the pool.
func (c *Client) drain() {
	for {
		select {
		case s := <-c.idle:
			_ = s.Close()
		default:
			return
		}
	}
}

// take takes a session from the pool, and give puts it back.
func (c *Client) take(ctx context.Context) (*Session, error) {
	if c.closed.Load() {
		return nil, ErrClosed
	}
	select {
	case s := <-c.idle:
		return s, nil
	default:
	}
	if c.mayMake() {
		return c.session(), nil
	}
	select {
	case s := <-c.idle:
		return s, nil
	case <-c.over:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (c *Client) mayMake() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made == c.opts.sessions {
		return false
	}
	c.made++
	return true
}

func (c *Client) give(s *Session) {
	c.idle <- s // it has room for all sessions
	if c.closed.Load() {
		c.drain()
	}
}

// sessionFor takes a session that works in the generation of a link.
func (c *Client) sessionFor(ctx context.Context, l kvl.Link) (*Session, error) {
	s, err := c.take(ctx)
	if err != nil {
		return nil, err
	}
	if v := c.snapshots.ofLink(l); v != nil {
		s.adopt(v)
	} else if !l.IsZero() { // the link came from another client
		err = s.Refresh(ctx)
	}
	if err != nil {
		c.give(s)
		return nil, err
	}
	return s, nil
}

// Lookup returns the item with a key in the current generation, or ErrNotFound.
func (c *Client) Lookup(ctx context.Context, key []byte) (kvl.Item, error) {
	item, _, err := c.Find(ctx, key)
	return item, err
}

// Find is like Lookup, and also returns the link to the item.
func (c *Client) Find(ctx context.Context, key []byte) (kvl.Item, kvl.Link, error) {
	s, err := c.take(ctx)
	if err != nil {
		return kvl.Item{}, kvl.Link{}, err
	}
	defer c.give(s)
	item, link, err := s.Find(ctx, key)
	if err != nil {
		return kvl.Item{}, kvl.Link{}, err
	}
	return item.Clone(), link, nil
}

// Follow READs the item behind a link. See Session.Follow.
func (c *Client) Follow(ctx context.Context, l kvl.Link) (kvl.Item, error) {
	s, err := c.sessionFor(ctx, l)
	if err != nil {
		return kvl.Item{}, err
	}
	defer c.give(s)
	item, err := s.Follow(ctx, l)
	if err != nil {
		return kvl.Item{}, err
	}
	return item.Clone(), nil
}

// FollowList READs the items of a list. See Session.FollowList; visit may call the client.
func (c *Client) FollowList(ctx context.Context, list kvl.List, visit func(kvl.Item) error) error {
	first := list.Next()
	if list.N() != 0 {
		first = list.At(0)
	}
	s, err := c.sessionFor(ctx, first)
	if err != nil {
		return err
	}
	defer c.give(s)
	return s.FollowList(ctx, list, visit)
}

// Walk visits items and those behind their links. See Session.Walk; visit may call the
// client.
func (c *Client) Walk(ctx context.Context, cfg WalkConfig, visit Visit) (WalkResult, error) {
	s, err := c.sessionForRoots(ctx, &cfg)
	if err != nil {
		return WalkResult{}, err
	}
	defer c.give(s)
	return s.Walk(ctx, cfg, visit)
}

// sessionForRoots takes a session that works in the generation of a walk's roots.
func (c *Client) sessionForRoots(ctx context.Context, cfg *WalkConfig) (*Session, error) {
	var first kvl.Link
	if len(cfg.Links) != 0 {
		first = cfg.Links[0]
	}
	return c.sessionFor(ctx, first)
}

// spare takes a session for an optional worker. It returns nil if the pool would have none left
// for other calls.
func (c *Client) spare() *Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.idle)+c.opts.sessions-c.made < 2 || c.closed.Load() {
		return nil
	}
	select {
	case s := <-c.idle:
		return s
	default:
	}
	if c.made == c.opts.sessions {
		return nil
	}
	c.made++
	c.held++
	return newSession(c)
}

// SchemaOf returns the names of an item's generation, in which names may have other numbers than in
// the current one. It returns nil if the generation was over more than a lease ago. Walks report
// the names themselves (WalkConfig.Schema).
func (c *Client) SchemaOf(item kvl.Item) *kvl.Schema {
	generation := item.Generation()
	if v := c.snapshots.find(func(v *snapshot) bool { return v.generation == generation }); v != nil {
		return v.schema
	}
	return nil
}

// Schema returns the names of the current generation.
func (c *Client) Schema(ctx context.Context) (*kvl.Schema, error) {
	s, err := c.take(ctx)
	if err != nil {
		return nil, err
	}
	defer c.give(s)
	if err := s.Refresh(ctx); err != nil {
		return nil, err
	}
	return s.Schema(), nil
}

// Info describes the server.
func (c *Client) Info(ctx context.Context) (info Info, err error) {
	err = c.document(ctx, procInfo, &info)
	return info, err
}

// Stats returns the statistics of the server.
func (c *Client) Stats(ctx context.Context) (st Stats, err error) {
	err = c.document(ctx, procStats, &st)
	return st, err
}

// document calls a procedure that returns JSON.
func (c *Client) document(ctx context.Context, proc byte, into any) error {
	s, err := c.take(ctx)
	if err != nil {
		return err
	}
	defer c.give(s)
	text, err := s.call(ctx, []byte{proc, 0})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("keli: malformed JSON: %w: %w", ErrProtocol, err)
	}
	return nil
}

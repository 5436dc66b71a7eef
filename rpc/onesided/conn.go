package onesided

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/internal/endpoint"
	"github.com/remora-kv/remora/rpc/internal/serving"
	"github.com/remora-kv/remora/store"
)

// ConnConfig describes a connection. Zero values mean the defaults.
type ConnConfig struct {
	// Device is where the connection is made. It stays the caller's to close.
	Device fabric.Device
	// Table is the partition to read.
	Table int
	// NewFinder makes the finder of a search from the layout of the table.
	NewFinder func(layout []byte) (store.Finder, error)
	// Window is how many searches can be in flight; default 1.
	Window int
	// Buffer is the longest span that is read; default 4096. What is longer is for the
	// server to answer.
	Buffer int
	// TouchEvery counts one in TouchEvery found items as used, by a FETCH_ADD, before its
	// search ends; 0 counts none, nor does a device without atomics.
	TouchEvery int
	// Policy says whether a client that waits may sleep; the default does.
	Policy fabric.Policy
}

const (
	defaultBuffer = 4096
	maxWindow     = 1024
	maxBuffer     = 1 << 26
)

func (c *ConnConfig) complete() error {
	c.Window = cmp.Or(c.Window, 1)
	c.Buffer = cmp.Or(c.Buffer, defaultBuffer)
	err := errors.Join(
		serving.Between("Window", c.Window, 1, maxWindow),
		serving.Between("Buffer", c.Buffer, 64, maxBuffer),
		serving.Between("Table", c.Table, 0, maxTables-1),
		serving.Between("TouchEvery", c.TouchEvery, 0, 1<<30),
	)
	if c.Device == nil {
		err = errors.Join(err, errors.New("no Device"))
	}
	if c.NewFinder == nil {
		err = errors.Join(err, errors.New("no NewFinder"))
	}
	if err != nil {
		return fmt.Errorf("onesided: connection: %w", err)
	}
	return nil
}

// Conn finds items in one table of a server.
type Conn struct {
	cfg    ConnConfig
	dev    fabric.Device
	reader *ReaderConn // of which cq, qp and waiter are
	cq     fabric.CQ
	qp     fabric.QP
	waiter fabric.Waiter
	local  *fabric.Region
	dir    *directory
	table  *table

	searches   []search
	first      int // the oldest of them that was not taken
	count      int
	untilTouch int // items that are not counted before the next is
	wr         [1]fabric.WR
	comps      [16]fabric.Completion
	err        error
	closed     bool
	stats      connStats
	pollf      func() bool
}

// Dial connects to a server. ctx bounds the attempt.
func Dial(ctx context.Context, addr fabric.Addr, cfg ConnConfig) (*Conn, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	if !cfg.Device.Limits().Atomics {
		cfg.TouchEvery = 0
	}
	c := &Conn{cfg: cfg, dev: cfg.Device}
	if err := c.dial(ctx, addr); err != nil {
		_ = c.Close()
		return nil, endpoint.DialError("onesided", addr, err)
	}
	return c, nil
}

func (c *Conn) dial(ctx context.Context, addr fabric.Addr) (err error) {
	if c.reader, err = DialReader(ctx, addr, ReaderConfig{
		Device: c.dev, Depth: c.cfg.Window + 1, Policy: c.cfg.Policy, Hello: protocol.Append(nil),
	}); err != nil {
		return err
	}
	c.cq, c.qp, c.waiter = c.reader.CQ, c.reader.QP, c.reader.Waiter
	w, err := parseWelcome(c.qp.PeerPrivate())
	if err != nil {
		return err
	}
	text, err := c.reader.Fetch(ctx, w.directory, w.length)
	if err != nil {
		return err
	}
	if c.dir, err = parseDirectory(text); err != nil {
		return err
	}
	return c.prepare()
}

// prepare makes the searches.
func (c *Conn) prepare() (err error) {
	if c.cfg.Table >= len(c.dir.tables) {
		return fmt.Errorf("table %d wanted, there are %d: %w", c.cfg.Table, len(c.dir.tables), fabric.ErrInvalid)
	}
	c.table = &c.dir.tables[c.cfg.Table]
	stride := padded(c.cfg.Buffer) + wordSize
	if c.local, err = c.reader.Domain.Alloc("onesided client", c.cfg.Window*stride, 0); err != nil {
		return err
	}
	c.searches = make([]search, c.cfg.Window)
	for i := range c.searches {
		s := &c.searches[i]
		if s.finder, err = c.cfg.NewFinder(c.table.layout); err != nil {
			return err
		}
		s.follower, _ = s.finder.(store.Follower)
		s.at, s.wordAt = i*stride, (i+1)*stride-wordSize
	}
	c.pollf = c.Poll
	return nil
}

// wordSize is the room for the result of a FETCH_ADD.
const wordSize = 8

// Instance tells which start of a server this is.
func (c *Conn) Instance() uint64 { return c.dir.instance }

// Tables returns how many partitions the server exports.
func (c *Conn) Tables() int { return len(c.dir.tables) }

// Exported returns how many bytes the partition exports, as the server reports.
func (c *Conn) Exported() (bytes int64) {
	for i := range c.table.areas {
		bytes += c.table.areas[i].size
	}
	return bytes
}

// Window returns how many searches can be in flight.
func (c *Conn) Window() int { return len(c.searches) }

// Err returns why the connection is over, nil while it is not.
func (c *Conn) Err() error { return c.err }

// Counters returns what the queue pair has done.
func (c *Conn) Counters() fabric.Counters { return c.qp.Counters() }

// fail ends the connection. The first reason counts.
func (c *Conn) fail(err error) {
	if c.err == nil {
		c.err = fmt.Errorf("onesided: connection with %s: %w", c.qp.Peer().Addr, err)
		_ = c.qp.Disconnect()
	}
}

// Disconnect has the connection end, which its goroutine notices when it polls. It may be
// called from any goroutine.
func (c *Conn) Disconnect() { _ = c.qp.Disconnect() }

// Close ends the connection; searches without an outcome have none. A second Close
// returns rpc.ErrClosed.
func (c *Conn) Close() error {
	if c.closed || c.reader == nil {
		return rpc.ErrClosed
	}
	c.closed = true
	err := c.reader.Close(c.local)
	if c.err == nil {
		c.err = rpc.ErrClosed
	}
	return err
}

package remora

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/backoff"
	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/internal/path"
)

// Client is a client of one server, for any number of goroutines.
type Client struct {
	target
	cfg     config
	conns   *path.Conns
	device  *deviceRef
	retries atomic.Uint64
}

// Dial connects to a server, with each of its cores. url is its address:
// shm:/path/to.sock, tcp://host:port, rdma://host:port or loop:name, with options
// of the fabric and ?path=. On shm the server must be of this user or root, or of
// a user that the address names: ?user=NAME. DefaultAddr is where a server on this machine listens by
// default. ctx bounds the attempt. There is one attempt: when the server cannot be
// reached the error is ErrUnavailable.
func Dial(ctx context.Context, url string, opts ...Option) (*Client, error) {
	cfg := defaults()
	for _, o := range opts {
		if o != nil {
			o(&cfg)
		}
	}
	addr, err := path.ParseAddr(url, &cfg.Config)
	if err = errors.Join(err, cfg.validate()); err != nil {
		return nil, err
	}
	dialer, err := path.NewDialer(addr, cfg.device, cfg.log)
	if err != nil {
		return nil, err
	}
	cfg.settle(&dialer)
	c := &Client{target: target{dialer, addr.String()}, cfg: cfg, device: &deviceRef{n: 1}}
	if cfg.device == nil {
		c.device.device = dialer.Device
	}
	if c.conns, err = path.Connect(ctx, dialer, cfg.Config, cfg.log); err != nil {
		_ = c.device.release()
		return nil, c.dialError(err)
	}
	return c, nil
}

// deviceRef counts the users of a client's device: the client and its sessions. The last one
// closes the device (R2).
type deviceRef struct {
	mu     sync.Mutex
	n      int
	device fabric.Device // nil for one that the program opened, and closes
}

// acquire adds a user, or returns false if the last one has released the device.
func (r *deviceRef) acquire() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n == 0 {
		return false
	}
	r.n++
	return true
}

func (r *deviceRef) release() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n--; r.n == 0 && r.device != nil {
		return r.device.Close()
	}
	return nil
}

// Close closes all connections of the client. Operations in flight fail with
// ErrClosed, and the error also says whether they may have happened (LostError).
// Sessions fail with ErrClosed from now on; their own goroutines close them. A second
// Close returns ErrClosed.
func (c *Client) Close() error {
	if err := c.conns.Close(); err != nil {
		return err
	}
	return c.device.release()
}

// Ping checks that every core answers.
func (c *Client) Ping(ctx context.Context) error {
	_, err := c.everyCore(ctx, command.Hello, command.AppendHello(nil))
	return err
}

// Stats returns what each core counts, one JSON document per core.
func (c *Client) Stats(ctx context.Context) ([]json.RawMessage, error) {
	for {
		docs, err := c.report(ctx, c.conns.Set())
		if !errors.Is(err, errReplaced) && !errors.Is(err, ErrNotFound) { // others have asked for many
			return docs, err
		}
	}
}

// report has the server gather statistics, which takes it a moment, and gets them.
func (c *Client) report(ctx context.Context, set *path.Set) ([]json.RawMessage, error) {
	body, err := c.askCore(ctx, set, 0, command.Stats, nil)
	if err != nil {
		return nil, err
	}
	number, err := command.ParseReport(body)
	if err != nil {
		return nil, c.lost(command.Stats, true, malformed(command.Stats, body))
	}
	docs := make([]json.RawMessage, len(set.Routes))
	pause := backoff.New(reportPause, reportPauseMost)
	for core := range docs {
		piece := command.StatsPiece{Report: number, Core: uint32(core)}
		for whole := false; !whole; {
			if whole, err = c.reportPiece(ctx, set, &piece, &docs[core]); err != nil {
				return nil, err
			}
			if len(docs[core]) == 0 && !pause.Wait(ctx, nil) {
				return nil, c.lost(command.Stats, false, context.Cause(ctx))
			}
		}
		if !json.Valid(docs[core]) {
			return nil, c.lost(command.Stats, true, fmt.Errorf("statistics of core %d are not JSON: %w", core, ErrProtocol))
		}
	}
	return docs, nil
}

// The pauses of a client that waits for a report, and the length of the longest document.
const (
	maxReport       = 64 << 20
	reportPause     = 200 * time.Microsecond
	reportPauseMost = 50 * time.Millisecond
)

// reportPiece appends the next piece of a document, if the report is ready, and reports whether it was
// the last.
func (c *Client) reportPiece(ctx context.Context, set *path.Set, p *command.StatsPiece, doc *json.RawMessage) (whole bool, err error) {
	body, err := c.askCore(ctx, set, 0, command.Stats, command.AppendStatsPiece(nil, *p))
	if err != nil {
		return false, err
	}
	total, text, err := command.ParsePiece(body)
	if err != nil || total > maxReport || len(*doc)+len(text) > total || len(text) == 0 && total != 0 {
		return false, c.lost(command.Stats, true, malformed(command.Stats, body))
	}
	*doc = append(*doc, text...)
	p.Offset = uint32(len(*doc))
	return total != 0 && len(*doc) == total, nil
}

// everyCore calls a procedure on all cores at the same time and returns their
// answers.
func (c *Client) everyCore(ctx context.Context, op command.Proc, req []byte) ([][]byte, error) {
	for {
		set := c.conns.Set()
		all, errs := make([][]byte, len(set.Routes)), make([]error, len(set.Routes))
		var wg sync.WaitGroup
		for core := range set.Routes {
			wg.Go(func() { all[core], errs[core] = c.askCore(ctx, set, core, op, req) })
		}
		wg.Wait()
		err := errors.Join(errs...)
		if errors.Is(err, errReplaced) {
			continue // with the cores of the new set
		}
		return all, err
	}
}

// Info describes the server and how it is reached.
type Info struct {
	// Addr is the address of the server, Fabric and Device are what it is reached
	// by, and Path is how operations and results travel.
	Addr, Fabric, Device string
	Path                 Path
	// Version is that of the server's program. Instance differs after each start.
	Version  string
	Instance uint64
	Cores    int
	// MaxKey and MaxValue are the lengths of the longest key and value that it takes.
	MaxKey, MaxValue int
	// Engine keeps the items, and Mode says what happens when memory is full.
	Engine, Mode string
	// Links says that this client can read items directly from the server's memory
	// (WithLinks). A server offers that on the first of its addresses only.
	Links bool
}

// Info returns what the server said when the client last connected.
func (c *Client) Info() Info {
	w, dev := c.conns.Set().Welcome, c.dialer.Device
	return Info{
		Addr: c.name, Fabric: dev.Fabric(), Device: dev.Name(), Path: Path(c.cfg.Path),
		Version: w.Version, Instance: w.Instance, Cores: w.Cores, MaxKey: w.MaxKey, MaxValue: w.MaxValue, Engine: w.Engine, Mode: w.Mode, Links: w.Links,
	}
}

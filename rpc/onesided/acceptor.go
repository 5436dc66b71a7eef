package onesided

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc/internal/serving"
)

// AcceptorConfig describes an acceptor. All of it is needed.
type AcceptorConfig struct {
	// Path is the name of the path, for errors and the log.
	Path string
	// Device is where clients connect, and Domain has the memory that they can READ.
	Device fabric.Device
	Domain fabric.Domain
	// MaxClients is how many reader connections there can be.
	MaxClients int
	// Hello checks the private data of a client. Welcome returns those of the server, or why it
	// does not accept clients now. Any goroutine may call them.
	Hello   func(private []byte) error
	Welcome func() ([]byte, error)
	// Log gets connects and refusals.
	Log *slog.Logger
}

// Acceptor has the reader connections of a server on one device. Its methods may be called from
// any goroutine.
type Acceptor struct {
	cfg    AcceptorConfig
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup // connections

	mu     sync.Mutex
	closed bool
	conns  map[*accepted]struct{}
	stats  Stats
	past   fabric.Counters // of connections that have ended
}

// Stats are the counts of an acceptor.
type Stats struct {
	Clients  int    `json:"clients"`
	Connects uint64 `json:"connects"`
	Refused  uint64 `json:"refused"`
	// In counts the operations of clients.
	In fabric.Counters `json:"-"`
}

// NewAcceptor returns an acceptor without connections.
func NewAcceptor(cfg AcceptorConfig) *Acceptor {
	cfg.Log = cfg.Log.With("path", cfg.Path)
	a := &Acceptor{cfg: cfg, conns: map[*accepted]struct{}{}}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	return a
}

// accepted is a reader connection. Its queues belong to the goroutine that waits for its end.
type accepted struct {
	cq fabric.CQ
	qp fabric.QP

	counted fabric.QP // qp for Stats, under Acceptor.mu
}

// acceptedDepth is the length of the queues of a connection at the server, which posts nothing.
const acceptedDepth = 1

// accept makes the connection.
func (c *accepted) accept(ctx context.Context, cfg *AcceptorConfig, req fabric.ConnRequest, welcome []byte) (err error) {
	if c.cq, err = cfg.Device.NewCQ(2 * acceptedDepth); err != nil {
		return err
	}
	c.qp, err = req.Accept(ctx, fabric.QPConfig{
		Transport: fabric.RC, Domain: cfg.Domain, SendCQ: c.cq, RecvCQ: c.cq, SendDepth: acceptedDepth, RecvDepth: acceptedDepth,
		MaxSegs: 1, MaxInline: fabric.NoInline,
	}, welcome)
	return err
}

func (c *accepted) close() {
	if c.qp != nil {
		_ = c.qp.Close()
	}
	if c.cq != nil {
		_ = c.cq.Close()
	}
}

// Admit accepts a connection request of a device, or refuses it with a reason.
func (a *Acceptor) Admit(dev fabric.Device, req fabric.ConnRequest) {
	if err := a.admit(dev, req); err != nil {
		serving.Refuse(a.cfg.Log, dev, req, err)
	}
}

func (a *Acceptor) admit(dev fabric.Device, req fabric.ConnRequest) error {
	c := new(accepted)
	welcome, err := a.reserve(dev, req, c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(a.ctx, serving.HandshakeTime)
	defer cancel()
	if err := c.accept(ctx, &a.cfg, req, welcome); err != nil {
		a.end(c)
		return err
	}
	a.cfg.Log.Debug("client connected", "qp", c.qp.Num(), "peer", c.qp.Peer().Addr)
	a.mu.Lock()
	c.counted = c.qp
	a.mu.Unlock()
	go a.wait(c)
	return nil
}

// reserve makes room for a connection until its end.
func (a *Acceptor) reserve(dev fabric.Device, req fabric.ConnRequest, c *accepted) ([]byte, error) {
	err := a.cfg.Hello(req.Private())
	var welcome []byte
	if err == nil {
		welcome, err = a.cfg.Welcome()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case err != nil:
	case a.closed:
		err = fmt.Errorf("%s: server closed: %w", a.cfg.Path, fabric.ErrClosed)
	case dev != a.cfg.Device:
		err = fmt.Errorf("%s: direct reads are available on %s only", a.cfg.Path, a.cfg.Device.Fabric())
	case len(a.conns) >= a.cfg.MaxClients:
		err = fmt.Errorf("%s: there are %d clients already", a.cfg.Path, len(a.conns))
	}
	if err != nil {
		a.stats.Refused++
		return nil, err
	}
	a.conns[c] = struct{}{}
	a.stats.Connects++
	a.wg.Add(1)
	return welcome, nil
}

// wait waits until a connection or the acceptor ends. It owns the queue pair (T1), and there is
// nothing to poll (O1).
func (a *Acceptor) wait(c *accepted) {
	select {
	case <-c.qp.Done():
	case <-a.ctx.Done():
	}
	a.end(c)
}

// end closes a connection and gives its room back.
func (a *Acceptor) end(c *accepted) {
	c.close()
	a.mu.Lock()
	delete(a.conns, c)
	if c.counted != nil {
		n := c.counted.Counters()
		a.past.Add(&n)
	}
	a.mu.Unlock()
	a.wg.Done()
}

// Stats returns the counts.
func (a *Acceptor) Stats() Stats {
	a.mu.Lock()
	defer a.mu.Unlock()
	st := a.stats
	st.Clients, st.In = len(a.conns), a.past
	for c := range a.conns {
		if c.counted != nil {
			n := c.counted.Counters()
			st.In.Add(&n)
		}
	}
	return st
}

// Close ends all connections, and accepts no more. A second Close does nothing.
func (a *Acceptor) Close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.cancel()
	a.wg.Wait()
}

package visit

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/remora-kv/remora/fabric"
)

// HallConfig describes a hall. All of it is needed.
type HallConfig struct {
	// Path is the name of the path, for errors and logs.
	Path string
	// Device is where visitors come from, and Domain what they can read.
	Device fabric.Device
	Domain fabric.Domain
	// MaxClients is how many visitors there can be.
	MaxClients int
	// Hello judges what a visitor says, and Welcome is what it is told, or why it cannot
	// come in now. Any goroutine may call them.
	Hello   func(private []byte) error
	Welcome func() ([]byte, error)
	// Log gets connects and refusals.
	Log *slog.Logger
}

const (
	// depth is that of the queues of a visitor at the server, which posts nothing.
	depth = 1
	// handshakeTime bounds the making of a connection.
	handshakeTime = 10 * time.Second
)

// Hall is where the visitors of a server are. Its methods may be called from any goroutine.
type Hall struct {
	cfg    HallConfig
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup // visitors

	mu       sync.Mutex
	closed   bool
	visitors map[*visitor]struct{}
	stats    Stats
	past     fabric.Counters
}

// Stats is what a hall has seen.
type Stats struct {
	Clients  int    `json:"clients"`
	Connects uint64 `json:"connects"`
	Refused  uint64 `json:"refused"`
	// In is what visitors did.
	In fabric.Counters `json:"-"`
}

// NewHall returns a hall without visitors.
func NewHall(cfg HallConfig) *Hall {
	h := &Hall{cfg: cfg, visitors: map[*visitor]struct{}{}}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h
}

// visitor is a client's connection. Its queues belong to the goroutine that attends it.
type visitor struct {
	cq fabric.CQ
	qp fabric.QP

	counted fabric.QP // qp for Stats, under Hall.mu
}

// accept makes the connection.
func (v *visitor) accept(ctx context.Context, cfg *HallConfig, req fabric.ConnRequest, welcome []byte) (err error) {
	if v.cq, err = cfg.Device.NewCQ(2 * depth); err != nil {
		return err
	}
	v.qp, err = req.Accept(ctx, fabric.QPConfig{
		Transport: fabric.RC, Domain: cfg.Domain, SendCQ: v.cq, RecvCQ: v.cq, SendDepth: depth, RecvDepth: depth,
	}, welcome)
	return err
}

func (v *visitor) close() {
	if v.qp != nil {
		_ = v.qp.Close()
	}
	if v.cq != nil {
		_ = v.cq.Close()
	}
}

// Admit accepts a visitor that came on a device, or rejects it with a reason.
func (h *Hall) Admit(dev fabric.Device, req fabric.ConnRequest) {
	if err := h.admit(dev, req); err != nil {
		h.cfg.Log.Warn("client refused", "path", h.cfg.Path, "peer", req.Peer().Addr, "err", err)
		text := []byte(err.Error())
		_ = req.Reject(text[:min(len(text), dev.Limits().MaxPrivate)])
	}
}

func (h *Hall) admit(dev fabric.Device, req fabric.ConnRequest) error {
	v := new(visitor)
	welcome, err := h.enter(dev, req, v)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(h.ctx, handshakeTime)
	defer cancel()
	if err := v.accept(ctx, &h.cfg, req, welcome); err != nil {
		v.close()
		h.leave(v)
		return err
	}
	h.cfg.Log.Debug("client connected", "path", h.cfg.Path, "qp", v.qp.Num(), "peer", v.qp.Peer().Addr)
	h.mu.Lock()
	v.counted = v.qp
	h.mu.Unlock()
	go h.attend(v)
	return nil
}

// enter takes a place for a visitor, which leave gives back.
func (h *Hall) enter(dev fabric.Device, req fabric.ConnRequest, v *visitor) ([]byte, error) {
	err := h.cfg.Hello(req.Private())
	var welcome []byte
	if err == nil {
		welcome, err = h.cfg.Welcome()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err != nil:
	case h.closed:
		err = fmt.Errorf("%s: the server ends: %w", h.cfg.Path, fabric.ErrClosed)
	case dev != h.cfg.Device:
		err = fmt.Errorf("%s: items can be read on %s alone", h.cfg.Path, h.cfg.Device.Fabric())
	case len(h.visitors) >= h.cfg.MaxClients:
		err = fmt.Errorf("%s: there are %d clients already", h.cfg.Path, len(h.visitors))
	}
	if err != nil {
		h.stats.Refused++
		return nil, err
	}
	h.visitors[v] = struct{}{}
	h.stats.Connects++
	h.wg.Add(1)
	return welcome, nil
}

// attend waits until a visitor is over, or the hall. It owns the queue pair (T1), and
// there is nothing to poll (V1).
func (h *Hall) attend(v *visitor) {
	select {
	case <-v.qp.Done():
	case <-h.ctx.Done():
	}
	v.close()
	h.leave(v)
}

func (h *Hall) leave(v *visitor) {
	h.mu.Lock()
	delete(h.visitors, v)
	if v.counted != nil {
		n := v.counted.Counters()
		h.past.Add(&n)
	}
	h.mu.Unlock()
	h.wg.Done()
}

// Stats returns what the hall has seen.
func (h *Hall) Stats() Stats {
	h.mu.Lock()
	defer h.mu.Unlock()
	st := h.stats
	st.Clients, st.In = len(h.visitors), h.past
	for v := range h.visitors {
		if v.counted != nil {
			n := v.counted.Counters()
			st.In.Add(&n)
		}
	}
	return st
}

// Close sends all visitors away, and admits no more. A second Close does nothing.
func (h *Hall) Close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.cancel()
	h.wg.Wait()
}

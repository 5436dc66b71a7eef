package herd

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc/internal/endpoint"
	"github.com/remora-kv/remora/rpc/internal/serving"
)

// controls is how many control messages of a client, wake-ups and introductions, can wait to
// be noticed.
const controls = 8

// session is one client. The registry of its device owns it.
type session struct {
	server     *Server
	registry   *registry
	peer       fabric.Peer
	domain     fabric.Domain
	qp         fabric.QP
	requests   *fabric.Region // slots, which the client writes
	controls   *fabric.Region // control messages, which its SENDs bring
	replies    *fabric.Region // reply memory; of the reply QPs' domain
	size       dimensions
	proof      bool // requests prove themselves
	generation uint32
	id         uint64 // in completions

	introduced bool // address handles are made, or were
	entered    bool // the cores have the chunks
	chunks     []*chunk
	holds      atomic.Int64 // of the registry, the cores and the goroutine that makes address handles
}

// TryAdmit admits a connection request of transport UC, as Admit does, and reports whether
// this was one. A host calls it.
func (s *Server) TryAdmit(dev fabric.Device, req fabric.ConnRequest) bool {
	if req.Transport() != fabric.UC {
		return false
	}
	s.Admit(dev, req)
	return true
}

// Admit makes a session of a connection request on a device of the server, or refuses
// it with a reason.
func (s *Server) Admit(dev fabric.Device, req fabric.ConnRequest) { s.base.Admit(dev, req) }

func (s *Server) admit(ctx context.Context, dev fabric.Device, req fabric.ConnRequest) error {
	t, err := s.newSession(dev, req)
	if err != nil {
		return err
	}
	if err := t.accept(ctx, req); err != nil {
		s.base.Reaper.Take(t)
		return err
	}
	s.clients.Log.Debug("client connected", "qp", t.qp.Num(), "peer", t.peer.Addr)
	s.clients.Connects.Add(1)
	t.holds.Store(1)
	t.registry.Post(func() { t.registry.enter(t) })
	return nil
}

// newSession makes everything but the queue pair.
func (s *Server) newSession(dev fabric.Device, req fabric.ConnRequest) (*session, error) {
	if req.Transport() != fabric.UC {
		return nil, fmt.Errorf("herd needs transport UC, not %v", req.Transport())
	}
	h, err := parseHello(req.Private())
	if err != nil {
		return nil, err
	}
	count := h.count
	if count == 0 {
		count = s.cfg.Cores - h.first
	}
	if !h.chose(count, s.cfg.Cores) {
		return nil, fmt.Errorf("cores from %d on, %d of them: the server has %d", h.first, h.count, s.cfg.Cores)
	}
	if n := s.count.Add(1); n > s.base.MaxClients() {
		s.count.Add(-1)
		return nil, fmt.Errorf("the server has its %d clients already", n-1)
	}
	t := &session{server: s, registry: serving.On(s.base.Acceptor, s.registries, dev), generation: s.generation(), peer: req.Peer()}
	lim := dev.Limits()
	t.proof = h.proof || !lim.InOrder
	t.size = dimensions{
		first: h.first, cores: count,
		window: min(h.window, s.cfg.Window), slot: min(min(h.slot, lim.MTU)/lineSize*lineSize, s.cfg.SlotSize),
	}
	if err := t.allocate(dev); err != nil {
		t.free()
		return nil, err
	}
	return t, nil
}

// generation returns the next generation; never 0.
func (s *Server) generation() uint32 { return s.gen.Add(1)%maxGen + 1 }

func (t *session) allocate(dev fabric.Device) (err error) {
	if t.domain, err = dev.NewDomain(); err != nil {
		return err
	}
	if t.requests, err = t.domain.Alloc("herd requests", t.size.requestBytes(), fabric.RemoteWrite); err != nil {
		return err
	}
	if t.controls, err = t.domain.Alloc("herd control", controls*controlSize, 0); err != nil {
		return err
	}
	if t.replies, err = t.registry.domain.Alloc("herd replies", t.size.replyBytes(), 0); err != nil {
		return err
	}
	for i := range t.size.cores {
		t.chunks = append(t.chunks, newChunk(t, i))
	}
	return nil
}

// accept makes the queue pair.
func (t *session) accept(ctx context.Context, req fabric.ConnRequest) error {
	w := welcome{dimensions: t.size, total: t.server.cfg.Cores, generation: t.generation, requests: t.requests.Remote(), proof: t.proof}
	qp, err := req.Accept(ctx, fabric.QPConfig{
		Transport: fabric.UC, Domain: t.domain, SendCQ: t.registry.cq, RecvCQ: t.registry.cq,
		SendDepth: 1, RecvDepth: controls, MaxSegs: 1, MaxInline: fabric.NoInline,
	}, w.bytes())
	if err != nil {
		return err
	}
	t.qp, t.peer = qp, qp.Peer()
	return nil
}

// free gives back memory; the queue pair is closed, and no core has a chunk.
func (t *session) free() {
	_ = endpoint.Free(t.domain, t.requests, t.controls, t.replies)
	t.server.count.Add(-1)
}

// memory is the number of bytes that the session takes beside its queue pair.
func (t *session) memory() int {
	return t.size.requestBytes() + t.size.replyBytes() + controls*controlSize
}

// release is called by each holder that lets go.
func (t *session) release() {
	if t.holds.Add(-1) == 0 {
		t.server.base.Reaper.Take(t)
	}
}

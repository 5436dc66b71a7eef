package herd

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
)

// letters is how many rings and introductions of a client can wait to be noticed.
const letters = 8

// tenant is one client. The keeper of its port owns it.
type tenant struct {
	server     *Server
	port       *port
	peer       fabric.Peer
	domain     fabric.Domain
	qp         fabric.QP
	requests   *fabric.Region // slots, which the client writes
	letters    *fabric.Region // where its SENDs go
	replies    *fabric.Region // reply memory; of the outlets' domain
	size       dimensions
	generation uint32
	tag        int // place in port.tenants

	introduced bool // address handles are made, or were
	entered    bool // the cores have the chunks
	chunks     []*chunk
	holds      atomic.Int64 // keeper, cores and whoever makes address handles: who has not let go
}

// AdmitGuest is what a host shows its connection requests: it takes those of transport
// UC, as Admit does, and reports whether this was one.
func (s *Server) AdmitGuest(dev fabric.Device, req fabric.ConnRequest) bool {
	if req.Transport() != fabric.UC {
		return false
	}
	s.Admit(dev, req)
	return true
}

// Admit makes a tenant of a connection request on a device of the server, or refuses
// it with a reason.
func (s *Server) Admit(dev fabric.Device, req fabric.ConnRequest) {
	ctx, cancel := context.WithTimeout(s.gate.Context(), handshakeTime)
	defer cancel()
	t, err := s.newTenant(dev, req)
	if err != nil {
		s.refuse(dev, req, err)
		return
	}
	if err := t.accept(ctx, req); err != nil {
		s.reaper.Take(t)
		s.refuse(dev, req, err)
		return
	}
	s.cfg.Log.Debug("client connected", "qp", t.qp.Num(), "peer", t.peer.Addr)
	s.connects.Add(1)
	t.holds.Store(1)
	t.port.do(func() { t.port.enter(t) })
}

func (s *Server) refuse(dev fabric.Device, req fabric.ConnRequest, why error) {
	s.cfg.Log.Warn("client refused", "peer", req.Peer().Addr, "err", why)
	text := []byte(why.Error())
	_ = req.Reject(text[:min(len(text), dev.Limits().MaxPrivate)])
}

// newTenant makes everything but the queue pair.
func (s *Server) newTenant(dev fabric.Device, req fabric.ConnRequest) (*tenant, error) {
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
	p := s.portOf(dev)
	if p == nil {
		return nil, fmt.Errorf("herd is not served on this device")
	}
	if n := s.clients.Add(1); n > s.most.Load() {
		s.clients.Add(-1)
		return nil, fmt.Errorf("the server has its %d clients already", n-1)
	}
	t := &tenant{server: s, port: p, generation: s.generation(), peer: req.Peer()}
	t.size = dimensions{
		first: h.first, cores: count,
		window: min(h.window, s.cfg.Window), slot: min(h.slot/lineSize*lineSize, s.cfg.SlotSize),
	}
	if err := t.allocate(dev); err != nil {
		t.free()
		return nil, err
	}
	return t, nil
}

// generation returns the next generation; never 0.
func (s *Server) generation() uint32 { return s.gen.Add(1)%maxGen + 1 }

func (t *tenant) allocate(dev fabric.Device) (err error) {
	if t.domain, err = dev.NewDomain(); err != nil {
		return err
	}
	if t.requests, err = t.domain.Alloc("herd requests", t.size.requestBytes(), fabric.RemoteWrite); err != nil {
		return err
	}
	if t.letters, err = t.domain.Alloc("herd letters", letters*letterSize, 0); err != nil {
		return err
	}
	if t.replies, err = t.port.domain.Alloc("herd replies", t.size.replyBytes(), 0); err != nil {
		return err
	}
	for i := range t.size.cores {
		t.chunks = append(t.chunks, newChunk(t, i))
	}
	return nil
}

// accept makes the queue pair.
func (t *tenant) accept(ctx context.Context, req fabric.ConnRequest) error {
	w := welcome{dimensions: t.size, total: t.server.cfg.Cores, generation: t.generation, requests: t.requests.Remote()}
	qp, err := req.Accept(ctx, fabric.QPConfig{
		Transport: fabric.UC, Domain: t.domain, SendCQ: t.port.cq, RecvCQ: t.port.cq,
		SendDepth: 1, RecvDepth: letters,
	}, w.bytes())
	if err != nil {
		return err
	}
	t.qp, t.peer = qp, qp.Peer()
	return nil
}

// free gives back memory; the queue pair is closed, and no core has a chunk.
func (t *tenant) free() {
	for _, r := range []*fabric.Region{t.requests, t.letters, t.replies} {
		if r != nil {
			_ = r.Close()
		}
	}
	if t.domain != nil {
		_ = t.domain.Close()
	}
	t.server.clients.Add(-1)
}

// memory is what the tenant takes beside its queue pair.
func (t *tenant) memory() int {
	return t.size.requestBytes() + t.size.replyBytes() + letters*letterSize
}

// release is called by each who lets go.
func (t *tenant) release() {
	if t.holds.Add(-1) == 0 {
		t.server.reaper.Take(t)
	}
}

package rfp

import (
	"context"
	"fmt"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc/wire"
)

// admit makes a session of a connection request, or refuses it with a reason.
func (s *Server) admit(dev fabric.Device, req fabric.ConnRequest) {
	if s.cfg.Admit != nil && s.cfg.Admit(dev, req) {
		return
	}
	ctx, cancel := context.WithTimeout(s.gate.Context(), handshakeTime)
	defer cancel()
	hello, err := s.greet(req)
	if err != nil {
		s.refuse(dev, req, err)
		return
	}
	c, err := s.coreFor(hello.Core)
	if err != nil {
		s.refuse(dev, req, err)
		return
	}
	ss, err := newSession(c, dev, &hello)
	if err != nil {
		c.unreserve()
		s.refuse(dev, req, err)
		return
	}
	if err := ss.accept(ctx, req); err != nil {
		c.unreserve()
		s.reaper.Take(ss)
		s.refuse(dev, req, err)
		return
	}
	s.cfg.Log.Debug("client connected", "core", c.index, "qp", ss.qp.Num(), "peer", ss.peer.Addr)
	c.add(ss)
}

func (s *Server) refuse(dev fabric.Device, req fabric.ConnRequest, why error) {
	s.cfg.Log.Warn("client refused", "peer", req.Peer().Addr, "err", why)
	text := []byte(why.Error())
	_ = req.Reject(text[:min(len(text), dev.Limits().MaxPrivate)])
}

// greet checks what a client wants.
func (s *Server) greet(req fabric.ConnRequest) (wire.Hello, error) {
	if req.Transport() != fabric.RC {
		return wire.Hello{}, fmt.Errorf("rfp needs transport RC, not %v", req.Transport())
	}
	h, err := wire.ParseHello(req.Private())
	if err != nil {
		return h, err
	}
	if h.Window == 0 || int(h.Results) < 2*int(h.Window) || h.Payload < minPayload {
		return h, fmt.Errorf("window %d, results %d, payload %d make no session", h.Window, h.Results, h.Payload)
	}
	return h, nil
}

// coreFor finds a core for a client and reserves a place on it. A client without
// a wish is refused only when all cores are full.
func (s *Server) coreFor(wish uint16) (*core, error) {
	n := uint64(len(s.cores))
	if wish != wire.AnyCore {
		if uint64(wish) >= n {
			return nil, fmt.Errorf("core %d wanted, there are %d", wish, n)
		}
		c := s.cores[wish]
		return c, c.reserve()
	}
	first := s.next.Add(1)
	c := s.cores[first%n]
	err := c.reserve()
	for i := uint64(1); err != nil && i < n; i++ {
		c = s.cores[(first+i)%n]
		err = c.reserve()
	}
	return c, err
}

package sendrecv

import (
	"context"
	"fmt"
	"slices"

	"github.com/remora-kv/remora/fabric"
)

// AdmitGuest is what a host shows its connection requests: it takes those of this path,
// as Admit does, and reports whether this was one.
func (s *Server) AdmitGuest(dev fabric.Device, req fabric.ConnRequest) bool {
	if req.Transport() != fabric.RC || !speaks(req.Private()) {
		return false
	}
	s.Admit(dev, req)
	return true
}

// Admit makes a session of a connection request on a device of the server, or refuses
// it with a reason.
func (s *Server) Admit(dev fabric.Device, req fabric.ConnRequest) {
	ctx, cancel := context.WithTimeout(s.gate.Context(), handshakeTime)
	defer cancel()
	h, err := s.greet(dev, req)
	if err != nil {
		s.refuse(dev, req, err)
		return
	}
	c, err := s.coreFor(h.core)
	if err != nil {
		s.refuse(dev, req, err)
		return
	}
	ss, err := newSession(c, dev, &h)
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
func (s *Server) greet(dev fabric.Device, req fabric.ConnRequest) (h hello, err error) {
	if req.Transport() != fabric.RC {
		return h, fmt.Errorf("sendrecv needs transport RC, not %v", req.Transport())
	}
	if h, err = parseHello(req.Private()); err != nil {
		return h, err
	}
	if !slices.Contains(s.cfg.Devices, dev) {
		return h, fmt.Errorf("sendrecv is not served on this device")
	}
	h.window, h.message = min(h.window, s.cfg.Window), min(h.message, s.cfg.MaxMessage)
	return h, nil
}

// coreFor finds a core for a client and reserves a place on it. A client without
// a wish is refused only when all cores are full.
func (s *Server) coreFor(wish uint16) (*Core, error) {
	n := uint64(len(s.cores))
	if wish != anyCore {
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

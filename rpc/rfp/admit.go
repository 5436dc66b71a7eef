package rfp

import (
	"context"
	"fmt"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc/internal/serving"
	"github.com/remora-kv/remora/rpc/wire"
)

// admit makes a session of a connection request.
func (s *Server) admit(ctx context.Context, dev fabric.Device, req fabric.ConnRequest) error {
	if s.cfg.Admit != nil && s.cfg.Admit(dev, req) {
		return nil
	}
	h, err := s.greet(req)
	if err != nil {
		return err
	}
	return serving.Connect(&s.base, h.Core, func(c *core) (*session, error) { return c.connect(ctx, dev, req, &h) })
}

// greet checks the hello of a client.
func (s *Server) greet(req fabric.ConnRequest) (wire.Hello, error) {
	if req.Transport() != fabric.RC {
		return wire.Hello{}, fmt.Errorf("rfp needs transport RC, not %v", req.Transport())
	}
	h, err := wire.ParseHello(req.Private())
	if err != nil {
		return h, err
	}
	if h.Window == 0 || int(h.Results) < 2*int(h.Window) || h.Payload < minPayload {
		return h, fmt.Errorf("invalid session: window %d, results %d, payload %d", h.Window, h.Results, h.Payload)
	}
	return h, nil
}

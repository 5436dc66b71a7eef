package sendrecv

import (
	"context"
	"fmt"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc/internal/serving"
)

// TryAdmit admits a connection request of this path, as Admit does, and reports whether this
// was one. A host calls it.
func (s *Server) TryAdmit(dev fabric.Device, req fabric.ConnRequest) bool {
	if req.Transport() != fabric.RC || !protocol.Speaks(req.Private()) {
		return false
	}
	s.Admit(dev, req)
	return true
}

// Admit makes a session of a connection request on a device of the server, or refuses
// it with a reason.
func (s *Server) Admit(dev fabric.Device, req fabric.ConnRequest) { s.base.Admit(dev, req) }

func (s *Server) admit(ctx context.Context, dev fabric.Device, req fabric.ConnRequest) error {
	if req.Transport() != fabric.RC {
		return fmt.Errorf("sendrecv needs transport RC, not %v", req.Transport())
	}
	h, err := parseHello(req.Private())
	if err != nil {
		return err
	}
	h.window, h.message = min(h.window, s.cfg.Window), min(h.message, s.cfg.MaxMessage)
	return serving.Connect(&s.base, h.core, func(c *core) (*session, error) { return c.connect(ctx, dev, req, &h) })
}

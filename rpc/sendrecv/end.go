package sendrecv

import (
	"errors"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc/internal/endpoint"
)

// cut ends the session of a client that broke the rules (S8).
func (c *core) cut(s *session, why string) {
	c.CutOff(s.qp, why)
	c.drop(s)
}

// broken ends a session whose queue pair failed. What failed first is the reason, of
// which the other requests say nothing.
func (c *core) broken(s *session, comp *fabric.Completion) {
	err := endpoint.Reason(s.qp, comp)
	var first *fabric.CompletionError
	if errors.As(err, &first) {
		switch first.Status {
		case fabric.StatusLocalLength:
			c.cut(s, "a request longer than agreed")
			return
		case fabric.StatusRNRExceeded:
			c.cut(s, "no receive for a reply")
			return
		default:
		}
	}
	c.lost(s, err)
}

// lost ends a session because of its queue pair.
func (c *core) lost(s *session, err error) {
	c.Gone(s.qp, err)
	c.drop(s)
}

// drop forgets a session and gives everything back (S10).
func (c *core) drop(s *session) {
	c.sessions.Remove(s.id)
	s.gone = true
	s.port.live--
	c.Disconnects.Add(1)
	c.discard(s)
}

// discard gives back a session that is not one of the core's, or not any more.
func (c *core) discard(s *session) {
	_ = s.qp.Close()
	c.Unreserve()
	c.server.base.Reaper.Take(s)
}

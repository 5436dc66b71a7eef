package remora

import "github.com/remora-kv/remora/internal/path"

// DisconnectRFP ends the connections of rfp of a session, and leaves those beside them.
func DisconnectRFP(s *Session) {
	for i := range s.routes {
		if conn := s.routes[i].conn; conn != nil {
			conn.DisconnectRFP()
		}
	}
}

// PathConfig returns what the connections of a client are made with.
func PathConfig(c *Client) path.Config { return c.cfg.Config }

// SessionPathConfig is PathConfig of a session.
func SessionPathConfig(s *Session) path.Config { return s.cfg.Config }

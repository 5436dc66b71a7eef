package remora

import "github.com/remora-kv/remora/internal/path"

// PathConfig returns what the connections of a client are made with.
func PathConfig(c *Client) path.Config { return c.cfg.Config }

// SessionPathConfig is PathConfig of a session.
func SessionPathConfig(s *Session) path.Config { return s.cfg.Config }

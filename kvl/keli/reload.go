package keli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/remora-kv/remora/internal/backoff"
	"github.com/remora-kv/remora/rpc"
)

// reloadTicket is the answer to a client that requested a new generation.
type reloadTicket struct {
	// Ended is the number of builds that have ended once a build has that began after the request.
	Ended uint64 `json:"ended"`
}

// serveReload requests the next generation by Config.Reload.
func (s *Server) serveReload(_ *rpc.Call, out []byte) ([]byte, error) {
	if s.cfg.Reload == nil {
		return out, &rpc.Error{Code: codeNoReload, Text: "keli: this server does not let clients request a reload"}
	}
	s.mu.Lock()
	t := reloadTicket{Ended: s.stats.ended() + 1}
	if s.stats.building {
		t.Ended++ // the current build may have read its source before the request
	}
	s.mu.Unlock()
	s.cfg.Reload()
	return appendJSON(out, t)
}

// codeNoReload is the code of a refusal.
const codeNoReload = rpc.CodeUser

// How often a client checks whether the generation that it requested is there.
const (
	firstReloadLook = 5 * time.Millisecond
	lastReloadLook  = 250 * time.Millisecond
)

// Reload makes the server publish another generation, waits until it is current, and returns
// its number. If the server has no Config.Reload, the error is ErrNotAllowed. If the build
// fails, the generation before stays current, and the error is ErrNotPublished with the server's
// reason.
//
// If ctx ends first, the server finishes the build.
func (c *Client) Reload(ctx context.Context) (uint64, error) {
	t, err := c.askReload(ctx)
	if err != nil {
		return 0, err
	}
	for pauses := backoff.New(firstReloadLook, lastReloadLook); ; {
		st, err := c.Stats(ctx)
		switch {
		case err != nil:
			return 0, err
		case st.Published+st.Failed < t.Ended:
		case st.LastFailed:
			return st.Generation, fmt.Errorf("%w: %s", ErrNotPublished, st.LastFailure)
		default:
			return st.Generation, nil
		}
		if !pauses.Wait(ctx, c.over) {
			if ctx.Err() != nil {
				return 0, context.Cause(ctx)
			}
			return 0, ErrClosed
		}
	}
}

// reloadRefused turns the refusal of a server into ErrNotAllowed.
func reloadRefused(err error) error {
	var failure *rpc.Error
	if errors.As(err, &failure) && (failure.Code == codeNoReload || failure.Code == rpc.CodeNoProcedure) {
		return fmt.Errorf("%w: %w", ErrNotAllowed, err)
	}
	return err
}

func (c *Client) askReload(ctx context.Context) (t reloadTicket, err error) {
	s, err := c.take(ctx)
	if err != nil {
		return t, err
	}
	defer c.give(s)
	text, err := s.call(ctx, []byte{procReload, 0})
	if err != nil {
		return t, reloadRefused(err)
	}
	if err := json.Unmarshal(text, &t); err != nil {
		return t, fmt.Errorf("keli: malformed JSON: %w: %w", ErrProtocol, err)
	}
	return t, nil
}

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

// reloadTicket is the answer to a client that has asked for a new generation.
type reloadTicket struct {
	// Ended is how many builds have ended when one has that began after the client asked.
	Ended uint64 `json:"ended"`
}

// serveReload asks whoever publishes for the next generation, if clients may do that.
func (s *Server) serveReload(_ *rpc.Call, out []byte) ([]byte, error) {
	if s.cfg.Reload == nil {
		return out, &rpc.Error{Code: codeNoReload, Text: "keli: clients cannot have this server load again"}
	}
	s.mu.Lock()
	t := reloadTicket{Ended: s.stats.ended() + 1}
	if s.stats.building {
		t.Ended++ // what is being built may have been read before the client asked
	}
	s.mu.Unlock()
	s.cfg.Reload()
	return appendJSON(out, t)
}

// codeNoReload is the code of a refusal.
const codeNoReload = rpc.CodeUser

// How often a client looks whether the generation is there that it has asked for.
const (
	firstReloadLook = 5 * time.Millisecond
	lastReloadLook  = 250 * time.Millisecond
)

// Reload has the server publish another generation, if its Config.Reload lets clients do
// that, and waits until it is current; its number is returned. A server that lets nobody is
// ErrNotAllowed. If the generation cannot be made the one before stays, and the error is
// ErrNotPublished, with the server's reason.
//
// When ctx ends before, the server goes on.
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

// reloadRefused makes the refusal of a server ErrNotAllowed.
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
		return t, fmt.Errorf("keli: a document that is not JSON: %w: %w", ErrProtocol, err)
	}
	return t, nil
}

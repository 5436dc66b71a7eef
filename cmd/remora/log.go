package main

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// repeats is how many messages of the same text above level debug a server logs in a second.
// Peers cause messages, and must not be able to fill a disk.
const repeats = 10

// limited is a handler that drops repeated messages. The next one that it passes has the
// number of those as dropped-before.
type limited struct {
	slog.Handler
	seen *seenMessages // shared by the handlers made of this one
}

// seenMessages counts messages by their text, which are constants of the program.
type seenMessages struct {
	mu     sync.Mutex
	counts map[string]*messageCount
}

type messageCount struct {
	since   time.Time
	passed  int
	dropped int
}

func limitRepeats(h slog.Handler) slog.Handler {
	return limited{h, &seenMessages{counts: make(map[string]*messageCount)}}
}

// Handle implements slog.Handler.
func (l limited) Handle(ctx context.Context, r slog.Record) error {
	if r.Level > slog.LevelDebug {
		pass, dropped := l.seen.count(r.Message, r.Time)
		if !pass {
			return nil
		}
		if dropped != 0 {
			r.AddAttrs(slog.Int("dropped-before", dropped))
		}
	}
	return l.Handler.Handle(ctx, r)
}

// count reports whether to pass a message, and how many were dropped before it.
func (s *seenMessages) count(message string, now time.Time) (pass bool, dropped int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counts[message]
	if c == nil {
		c = new(messageCount)
		s.counts[message] = c
	}
	if now.Sub(c.since) >= time.Second {
		c.since, c.passed = now, 0
	}
	if c.passed == repeats {
		c.dropped++
		return false, 0
	}
	c.passed++
	dropped, c.dropped = c.dropped, 0
	return true, dropped
}

// WithAttrs implements slog.Handler.
func (l limited) WithAttrs(attrs []slog.Attr) slog.Handler {
	return limited{l.Handler.WithAttrs(attrs), l.seen}
}

// WithGroup implements slog.Handler.
func (l limited) WithGroup(name string) slog.Handler {
	return limited{l.Handler.WithGroup(name), l.seen}
}

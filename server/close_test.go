package server_test

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/server"
)

// closing is a device that calls a function before a listener of it is closed.
type closing struct {
	fabric.Device
	before func()
}

type closingListener struct {
	fabric.Listener
	before func()
}

func (d *closing) Listen(addr fabric.Addr, cfg fabric.ListenConfig) (fabric.Listener, error) {
	l, err := d.Device.Listen(addr, cfg)
	if err != nil {
		return nil, err
	}
	return &closingListener{l, d.before}, nil
}

func (l *closingListener) Close() error {
	l.before()
	return l.Listener.Close()
}

// startClosing starts a server that also has a text listener and calls before when a listener
// of its device is closed.
func startClosing(t *testing.T, log *slog.Logger, before func()) *server.Server {
	t.Helper()
	r := newRig(t, provider.Shm)
	cfg := r.config()
	cfg.Listen, cfg.Log = append(cfg.Listen, textURL), log
	return r.start(cfg.Behind(func(d fabric.Device) fabric.Device { return &closing{d, before} }))
}

// takesText reports whether a server takes new clients that speak lines.
func takesText(s *server.Server) bool {
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.TextAddrs()[0], "text://"))
	if err == nil {
		_ = conn.Close()
	}
	return err == nil
}

// Close ends the text listeners before it stops the cores, which have to answer the commands
// that were taken.
func TestTextIsClosedBeforeTheCores(t *testing.T) {
	var s *server.Server
	closes := 0
	s = startClosing(t, nil, func() {
		if closes++; takesText(s) {
			t.Error("the cores are stopped while the text listener takes commands")
		}
	})
	if err := s.Close(); err != nil || closes == 0 {
		t.Errorf("%v; %d listeners were closed", err, closes)
	}
}

// onLog calls a function for each message of a log.
type onLog struct {
	slog.Handler
	message func(text string)
}

func (onLog) Enabled(context.Context, slog.Level) bool { return true }

func (l onLog) Handle(_ context.Context, r slog.Record) error {
	l.message(r.Message)
	return nil
}

// Before it says that it drains, a server has closed all listeners, and serves the clients that
// it has.
func TestDrainClosesListenersFirst(t *testing.T) {
	var s *server.Server
	var client *textClient
	var closes atomic.Int64
	said := 0
	log := slog.New(onLog{slog.DiscardHandler, func(text string) {
		if text != "draining" {
			return
		}
		said++
		if closes.Load() != 1 {
			t.Errorf("%d listeners of the device are closed, want 1", closes.Load())
		}
		// When this is answered, the text listener has taken note of what came before.
		if answer, err := client.say("GET k\r\n"); err != nil {
			t.Errorf("a client that was there: %q, %v", answer, err)
		}
		if takesText(s) {
			t.Error("the text listener takes clients")
		}
	}})
	s = startClosing(t, log, func() { closes.Add(1) })
	client = dialText(t, s)
	if answer, err := client.say("GET k\r\n"); err != nil || answer != "NOT_FOUND" {
		t.Fatalf("%q, %v", answer, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Drain(ctx); err != nil || said != 1 {
		t.Errorf("%v; said %d times that it drains", err, said)
	}
}

package serving_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc/internal/serving"
)

// deaf is a device whose listeners fail when they are to accept.
type deaf struct {
	fabric.Device
	closed chan struct{} // by the close of a listener
}

type deafListener struct {
	fabric.Listener
	dev *deaf
}

func (d *deaf) Listen(addr fabric.Addr, cfg fabric.ListenConfig) (fabric.Listener, error) {
	l, err := d.Device.Listen(addr, cfg)
	return &deafListener{l, d}, err
}

func (l *deafListener) Accept(context.Context) (fabric.ConnRequest, error) {
	return nil, errors.New("too many open files")
}

func (l *deafListener) Close() error {
	err := l.Listener.Close()
	l.dev.closed <- struct{}{}
	return err
}

// An address at which nobody can be accepted any more is given back.
func TestListenerThatFails(t *testing.T) {
	r := newRig(t)
	dev := &deaf{r.server, make(chan struct{}, 8)}
	a := serving.NewAcceptor(&serving.Config{
		Path: "test", Devices: []fabric.Device{dev}, MaxClients: 4, Log: slog.New(slog.DiscardHandler),
	})
	addr, err := fabric.ParseAddr("loop:front")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := a.Listen(dev, addr, fabric.ListenConfig{}); err != nil {
			t.Fatal(err)
		}
		select {
		case <-dev.closed:
		case <-time.After(patience):
			t.Fatal("the listener is open")
		}
	}
	if _, err := r.listen("front"); err != nil || !r.admits(addr) {
		t.Errorf("another acceptor at this address admits nobody: %v", err)
	}
	if err := a.Close(); err != nil || len(dev.closed) != 0 {
		t.Errorf("%v; a listener is closed %d times more", err, len(dev.closed))
	}
}

// The reason for which a client is refused is cut between two characters.
func TestRefusalIsCutBetweenCharacters(t *testing.T) {
	r := newRig(t)
	req := &request{}
	most := r.server.Limits().MaxPrivate
	for n := range utf8.UTFMax {
		why := strings.Repeat("x", most-n) + "𝄞"
		if serving.Refuse(slog.New(slog.DiscardHandler), r.server, req, errors.New(why)); string(req.text) != why[:most-n] {
			t.Errorf("%d bytes of %d, %q", len(req.text), len(why), req.text)
		}
	}
}

// request keeps what it is rejected with.
type request struct {
	fabric.ConnRequest
	text []byte
}

func (*request) Peer() fabric.Peer { return fabric.Peer{} }

func (r *request) Reject(text []byte) error {
	r.text = text
	return nil
}

package keli

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/remora-kv/remora/fabric"
)

// Option changes how a client is made.
type Option func(*options)

type options struct {
	device                     fabric.Device
	window, slot, sessions     int
	policy                     fabric.Policy
	log                        *slog.Logger
	reconnectWait, dialTimeout time.Duration
	firstPause, longestPause   time.Duration
}

const (
	defaultWindow = 16
	defaultSlot   = 64 << 10
	maxWindow     = 1024
	minSlot       = 256
	maxSlot       = 1 << 26
)

func defaultOptions() options {
	return options{
		window: defaultWindow, slot: defaultSlot, sessions: 16, log: slog.New(slog.DiscardHandler),
		reconnectWait: 5 * time.Second, dialTimeout: 5 * time.Second,
		firstPause: 10 * time.Millisecond, longestPause: time.Second,
	}
}

// WithDevice uses a device instead of opening one by the address. The caller closes it.
func WithDevice(d fabric.Device) Option { return func(o *options) { o.device = d } }

// WithWindow sets how many READs a session can have in flight; default 16.
func WithWindow(n int) Option { return func(o *options) { o.window = n } }

// WithSlot sets the length of the buffer of each READ; default 64 KiB. Longer records are read
// in pieces into a buffer of their own.
func WithSlot(bytes int) Option { return func(o *options) { o.slot = bytes } }

// WithSessions bounds the sessions that the methods of a client share; default 16. They are made
// when they are needed.
func WithSessions(n int) Option { return func(o *options) { o.sessions = n } }

// WithBusyPoll has goroutines that wait spin and never sleep.
func WithBusyPoll(on bool) Option { return func(o *options) { o.policy = fabric.PolicyOf(on) } }

// WithLog logs connects and lost connections.
func WithLog(l *slog.Logger) Option { return func(o *options) { o.log = l } }

// WithReconnectWait sets how long an operation waits for a server that cannot be reached; default 5 s.
func WithReconnectWait(d time.Duration) Option { return func(o *options) { o.reconnectWait = d } }

// WithBackoff sets the pauses between attempts to connect; default 10 ms to 1 s.
func WithBackoff(first, longest time.Duration) Option {
	return func(o *options) { o.firstPause, o.longestPause = first, longest }
}

// between returns an error unless lo <= v <= hi.
func between(what string, v, lo, hi int) error {
	if v < lo || v > hi {
		return fmt.Errorf("%s is %d, must be %d to %d", what, v, lo, hi)
	}
	return nil
}

func (o *options) validate() error {
	err := errors.Join(
		between("window", o.window, 1, maxWindow),
		between("slot", o.slot, minSlot, maxSlot),
		between("sessions", o.sessions, 1, 1<<16),
	)
	if o.firstPause <= 0 || o.longestPause < o.firstPause {
		err = errors.Join(err, fmt.Errorf("backoff from %v to %v: the first pause is positive, and the longest not shorter", o.firstPause, o.longestPause))
	}
	if o.reconnectWait < 0 {
		err = errors.Join(err, fmt.Errorf("reconnect wait of %v", o.reconnectWait))
	}
	if o.log == nil {
		err = errors.Join(err, errors.New("no log"))
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return nil
}

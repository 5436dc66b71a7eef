package sendrecv

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/affinity"
	"github.com/remora-kv/remora/internal/knob"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/internal/gate"
	"github.com/remora-kv/remora/rpc/internal/reaper"
)

// Serve handles a message. rpc.Mux has such a method.
type Serve func(c *rpc.Call, msg, out []byte) ([]byte, error)

// Expect is told of messages that came together, at most ExpectMost, before the first of
// them is served, so that it can start to load what serving will touch. A message is then
// served with its place among them (rpc.Call.Announced).
type Expect func(core int, batch [][]byte)

// ExpectMost is of how many messages Expect is told.
const ExpectMost = 64

// ServerConfig describes a server. Zero values mean the defaults.
type ServerConfig struct {
	// Devices are where the server listens. They stay the caller's to close. The clock
	// is that of the first. Without a host there is one.
	Devices []fabric.Device
	// Serve handles all messages. It runs on every core at the same time, one
	// message at a time on each.
	Serve Serve
	// Expect, when not nil, is told of messages that came together.
	Expect Expect
	// Cores is the number of cores; default 1. CPUs, when not empty, names the
	// CPU of each.
	Cores int
	CPUs  []int
	// Wake, when not nil, says that the cores are driven by a host, from Core, and
	// wakes that of the given core from any goroutine. CPUs and Policy are the host's
	// then.
	Wake func(core int)
	// Policy says whether idle cores sleep; the default does.
	Policy fabric.Policy
	// Window is the most requests of a client that can be without a reply, default 16,
	// at most 1024; MaxMessage the longest request or result, default 1024. A client may
	// ask for less.
	Window, MaxMessage int
	// Inline is the longest reply, with its 8 bytes of header, that is sent inline;
	// default 192, negative is none.
	Inline int
	// MaxClients is how many sessions there can be on a core; default 1024.
	MaxClients int
	// Patience is how long a reply waits for a receive that its client should have
	// posted before; default 10 s.
	Patience time.Duration
	// Log gets connects, and clients that ended for a reason; default: none.
	Log *slog.Logger
}

const (
	defaultWindow     = 16
	defaultInline     = 192
	defaultMaxClients = 1024
	defaultPatience   = 10 * time.Second
)

func (c *ServerConfig) setDefaults() {
	knob.Default(&c.Cores, 1)
	knob.Default(&c.Window, defaultWindow)
	knob.Default(&c.MaxMessage, defaultMessage)
	knob.Default(&c.Inline, defaultInline)
	knob.Default(&c.MaxClients, defaultMaxClients)
	knob.Default(&c.Patience, defaultPatience)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
}

func (c *ServerConfig) validate() error {
	err := errors.Join(
		knob.Between("Cores", c.Cores, 1, maxCores),
		knob.Between("Window", c.Window, 1, maxWindow),
		knob.Between("MaxMessage", c.MaxMessage, minMessage, maxMessage),
		knob.Between("MaxClients", c.MaxClients, 1, 1<<20),
	)
	if len(c.Devices) == 0 || slices.Contains(c.Devices, nil) {
		err = errors.Join(err, errors.New("no Device"))
	}
	if n := len(c.Devices); n > 1 && c.Wake == nil {
		err = errors.Join(err, fmt.Errorf("%d Devices without a host: a core of its own sleeps at one", n))
	}
	if c.Serve == nil {
		err = errors.Join(err, errors.New("no Serve: give it Mux.Serve"))
	}
	if n := len(c.CPUs); n != 0 && n != c.Cores {
		err = errors.Join(err, fmt.Errorf("%d CPUs for %d cores", n, c.Cores))
	}
	if c.Patience < 0 {
		err = errors.Join(err, fmt.Errorf("wrong Patience: %v", c.Patience))
	}
	if err != nil {
		return fmt.Errorf("sendrecv: server: %w", err)
	}
	return nil
}

// Server serves messages of any number of clients. Its methods may be called
// from any goroutine.
type Server struct {
	cfg    ServerConfig
	cores  []*Core
	gate   *gate.Gate
	reaper *reaper.Reaper[*session]
	next   atomic.Uint64 // core of the next client that has no wish
	most   atomic.Int64  // sessions on a core, at most cfg.MaxClients
}

// NewServer starts the cores, unless there is a host for them. Call Listen to have
// clients, and Close at the end.
func NewServer(cfg ServerConfig) (*Server, error) {
	cfg.setDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, reaper: reaper.New((*session).free)}
	s.gate = gate.New("sendrecv", cfg.Log, s.Admit)
	s.most.Store(int64(cfg.MaxClients))
	for i := range cfg.Cores {
		c, err := newCore(s, i)
		if err != nil {
			_ = s.Close()
			return nil, err
		}
		s.cores = append(s.cores, c)
		if cfg.Wake == nil {
			go s.runCore(c)
		}
	}
	return s, nil
}

// runCore runs a core on its CPU.
func (s *Server) runCore(c *Core) {
	if len(s.cfg.CPUs) != 0 {
		unpin, err := affinity.Pin(s.cfg.CPUs[c.index])
		if err != nil {
			s.cfg.Log.Warn("a core is not pinned", "core", c.index, "cpu", s.cfg.CPUs[c.index], "err", err)
		} else {
			defer unpin()
		}
	}
	c.run()
}

// Core returns a core for its host.
func (s *Server) Core(i int) *Core { return s.cores[i] }

// Listen takes clients at an address of one of the server's devices, until Close.
// It returns the address that was really taken.
func (s *Server) Listen(dev fabric.Device, addr fabric.Addr, cfg fabric.ListenConfig) (fabric.Addr, error) {
	if !slices.Contains(s.cfg.Devices, dev) {
		return fabric.Addr{}, fmt.Errorf("sendrecv: server: %v is not on a device of this server: %w", addr, fabric.ErrInvalid)
	}
	return s.gate.Listen(dev, addr, cfg)
}

// StopListening takes no more clients; those that there are go on.
func (s *Server) StopListening() { s.gate.Stop() }

// SetMaxClients changes how many sessions there can be on a core, to at most the number
// that the server was made for. Sessions that there are go on.
func (s *Server) SetMaxClients(n int) error {
	if n < 1 || n > s.cfg.MaxClients {
		return fmt.Errorf("sendrecv: server: %d clients per core: between 1 and %d, which it was started with: %w",
			n, s.cfg.MaxClients, fabric.ErrInvalid)
	}
	s.most.Store(int64(n))
	return nil
}

// handshakeTime bounds the making of a session.
const handshakeTime = 10 * time.Second

// Close ends all clients and stops the cores. A host closes its cores (Core.Close)
// before. Calls that are being served are finished, their replies may not be sent.
func (s *Server) Close() error {
	if err := s.gate.Close(); err != nil {
		return err
	}
	for _, c := range s.cores {
		c.end(s.cfg.Wake == nil)
	}
	s.reaper.Close()
	return nil
}

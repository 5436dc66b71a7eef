package sendrecv

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/internal/serving"
)

// Serve handles a message. rpc.Mux has such a method.
type Serve func(c *rpc.Call, msg, out []byte) ([]byte, error)

// Expect is called with messages that came together, at most ExpectMost, before the first is
// served, so that it can prefetch what serving will touch. A message is then served with its
// index among them (rpc.Call.Announced).
type Expect func(core int, batch [][]byte)

// ExpectMost is the most messages that Expect receives at once.
const ExpectMost = 64

// ServerConfig describes a server. Zero values mean the defaults.
type ServerConfig struct {
	// Devices are where the server listens. They stay the caller's to close. The clock
	// is that of the first. Without a host there is one.
	Devices []fabric.Device
	// Serve handles all messages. It runs on every core at the same time, one
	// message at a time on each.
	Serve Serve
	// Expect, when not nil, is called with messages that came together.
	Expect Expect
	// Cores is the number of cores; default 1. CPUs, when not empty, names the
	// CPU of each.
	Cores int
	CPUs  []int
	// Wake, when not nil, says that the cores are driven by a host (Poller), and
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
	// ReceiveWait is how long a reply waits for a receive that its client should have
	// posted before; default 10 s.
	ReceiveWait time.Duration
	// Log gets connects, and clients that ended for a reason; default: none.
	Log *slog.Logger
}

const (
	defaultWindow      = 16
	defaultInline      = 192
	defaultReceiveWait = 10 * time.Second
)

// complete sets the defaults, and returns what all servers have in common.
func (c *ServerConfig) complete() (*serving.Config, error) {
	c.Window = cmp.Or(c.Window, defaultWindow)
	c.MaxMessage = cmp.Or(c.MaxMessage, defaultMessage)
	c.Inline = cmp.Or(c.Inline, defaultInline)
	c.ReceiveWait = cmp.Or(c.ReceiveWait, defaultReceiveWait)
	common := &serving.Config{
		Path: "sendrecv", Devices: c.Devices, Serve: c.Serve, Cores: c.Cores, CPUs: c.CPUs, Wake: c.Wake, Policy: c.Policy,
		MaxClients: c.MaxClients, Log: c.Log,
	}
	var err error
	if n := len(c.Devices); n > 1 && c.Wake == nil {
		err = fmt.Errorf("%d Devices, want 1 unless Wake is set", n)
	}
	if c.ReceiveWait < 0 {
		err = errors.Join(err, fmt.Errorf("wrong ReceiveWait: %v", c.ReceiveWait))
	}
	err = common.Complete(err, serving.Between("Window", c.Window, 1, maxWindow), serving.Between("MaxMessage", c.MaxMessage, minMessage, maxMessage))
	c.Cores, c.MaxClients = common.Cores, common.MaxClients
	return common, err
}

// Server serves messages of any number of clients. Its methods may be called
// from any goroutine.
type Server struct {
	cfg  ServerConfig
	base serving.Server[*core, *session]
}

// NewServer starts the cores, unless there is a host for them. Call Listen to have
// clients, and Close at the end.
func NewServer(cfg ServerConfig) (*Server, error) {
	common, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	cfg.Serve = rpc.Protect(cfg.Serve, common.Log)
	s := &Server{cfg: cfg}
	common.Admit = s.admit
	s.base.Init(common, (*session).free)
	if err := s.base.AddCores(s.newCore); err != nil {
		_ = s.Close()
		return nil, err
	}
	s.base.Start()
	return s, nil
}

// Poller returns a core for its host.
func (s *Server) Poller(core int) rpc.Poller { return s.base.Cores[core] }

// Listen takes clients at an address of one of the server's devices, until Close.
// It returns the address that was really taken.
func (s *Server) Listen(dev fabric.Device, addr fabric.Addr, cfg fabric.ListenConfig) (fabric.Addr, error) {
	return s.base.Listen(dev, addr, cfg)
}

// StopListening takes no more clients; those that there are go on.
func (s *Server) StopListening() { s.base.StopListening() }

// SetMaxClients changes how many sessions there can be on a core, to at most the number
// that the server was made for. Sessions that there are go on.
func (s *Server) SetMaxClients(n int) error { return s.base.SetMaxClients(n) }

// Close ends all clients and stops the cores. A host closes its pollers
// before. Calls that are being served are finished, their replies may not be sent.
func (s *Server) Close() error { return s.base.Close() }

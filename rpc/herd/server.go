package herd

import (
	"cmp"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/internal/serving"
)

// Serve handles a message. rpc.Mux has such a method.
type Serve func(c *rpc.Call, msg, out []byte) ([]byte, error)

// Expect is called with the hash of a request before it is served, so that it can prefetch
// what serving will touch: at stage 0 when it was found, at stage 1 when the next one was.
// hash is the keyhash that the client sent: a hint, which may be anything.
type Expect func(core, stage int, hash uint64)

// ServerConfig describes a server. Zero values mean the defaults.
type ServerConfig struct {
	// Devices are where the server listens. They stay the caller's to close. The
	// clock is that of the first. A core without a host sleeps at the reply QP of the first
	// alone: datagrams that another one holds back wait until it wakes.
	Devices []fabric.Device
	// Serve handles all messages. It runs on every core at the same time, one
	// message at a time on each.
	Serve Serve
	// Expect, when not nil, is called before requests are served, unless NoPrefetch is set:
	// the two-stage pipeline. FlushPolls is after how many looks in vain a no-op moves it;
	// default 100.
	Expect     Expect
	NoPrefetch bool
	FlushPolls int
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
	// Window is the most slots of a client on each core, default 16, at most 64;
	// SlotSize how long they are, default 1024, and no longer than the MTU. A client may ask for less.
	Window, SlotSize int
	// Inline is the longest reply, with its 16 bytes of header, that is sent inline;
	// default 192, negative is none.
	Inline int
	// MaxClients is how many clients there can be; default 1024.
	MaxClients int
	// Log gets connects, and clients that ended for a reason; default: none.
	Log *slog.Logger
}

const (
	defaultWindow     = 16
	defaultInline     = 192
	defaultFlushPolls = 100
)

// complete sets the defaults, and returns what all servers have in common.
func (c *ServerConfig) complete() (*serving.Config, error) {
	c.Window = cmp.Or(c.Window, defaultWindow)
	c.SlotSize = cmp.Or(c.SlotSize, defaultSlot)
	c.Inline = cmp.Or(c.Inline, defaultInline)
	c.FlushPolls = cmp.Or(c.FlushPolls, defaultFlushPolls)
	common := &serving.Config{
		Path: "herd", Devices: c.Devices, Serve: c.Serve, Cores: c.Cores, CPUs: c.CPUs, Wake: c.Wake, Policy: c.Policy,
		MaxClients: c.MaxClients, Log: c.Log,
	}
	var err error
	if c.SlotSize%lineSize != 0 {
		err = fmt.Errorf("SlotSize is %d, must be a multiple of %d", c.SlotSize, lineSize)
	}
	err = common.Complete(
		err,
		serving.Between("Window", c.Window, 1, maxWindow),
		serving.Between("SlotSize", c.SlotSize, minSlot, maxSlot),
		serving.Between("FlushPolls", c.FlushPolls, 1, 1<<20),
	)
	c.Cores, c.MaxClients = common.Cores, common.MaxClients
	return common, err
}

// Supports returns an error that says why a device cannot be used, nil if it can.
func Supports(dev fabric.Device) error {
	lim := dev.Limits()
	if !lim.UC || !lim.UD {
		return fmt.Errorf("herd: device %s has no UC or no UD: %w", dev.Name(), fabric.ErrUnsupported)
	}
	return nil
}

// Server serves messages of any number of clients. Its methods may be called
// from any goroutine.
type Server struct {
	cfg        ServerConfig
	base       serving.Server[*core, *session]
	registries []*registry // by device
	clients    serving.Clients
	count      atomic.Int64  // clients that there are
	gen        atomic.Uint32 // of the last client
}

// NewServer starts the cores, unless there is a host for them. Call Listen to have
// clients, and Close at the end.
func NewServer(cfg ServerConfig) (*Server, error) {
	common, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg}
	common.Admit = s.admit
	s.base.Init(common, (*session).free)
	s.clients.Log = common.Log
	s.gen.Store(rand.Uint32()) // so that a restarted server does not begin with the same
	if err := s.prepare(); err != nil {
		_ = s.Close()
		return nil, err
	}
	s.base.Start()
	return s, nil
}

// prepare makes the registries and the cores.
func (s *Server) prepare() error {
	for _, dev := range s.cfg.Devices {
		if err := Supports(dev); err != nil {
			return err
		}
		r, err := newRegistry(s, dev)
		if err != nil {
			return err
		}
		s.registries = append(s.registries, r)
	}
	return s.base.AddCores(s.newCore)
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

// SetMaxClients changes how many clients there can be, to at most the number that the
// server was made for. Clients that there are go on.
func (s *Server) SetMaxClients(n int) error { return s.base.SetMaxClients(n) }

// Close ends all clients and stops the cores. A host closes its pollers
// before. Calls that are being served are finished, their replies are not sent.
func (s *Server) Close() error {
	if err := s.base.Acceptor.Close(); err != nil {
		return err
	}
	s.base.StopCores()
	for _, r := range s.registries {
		r.close()
	}
	s.base.Reaper.Close()
	for _, r := range s.registries {
		_ = r.domain.Close()
	}
	return nil
}

package rfp

import (
	"cmp"
	"fmt"
	"log/slog"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/internal/serving"
)

// Serve handles a message. rpc.Mux has such a method.
type Serve func(c *rpc.Call, msg, out []byte) ([]byte, error)

// Expect is called with the messages of a batch, at most ExpectMost, before the first is
// served, so that it can prefetch what serving will touch. Parts of long messages are
// nil. A message is then served with its index in the batch (rpc.Call.Announced), so
// that Serve can use what Expect found out about it.
type Expect func(core int, batch [][]byte)

// ServeMany serves messages of a batch that Expect was called with, from the first on,
// as long as their results are short and it knows how to, and returns how many it has
// served. c.Announced is the place of the first. A result is written into Room of the
// frame, and counted by Add. The one of the message behind those that were served may
// be long, which is then known too: it and c.After are used as what Serve returns.
//
// So messages that are alike are served in one go, without a call for each. The server
// passes the next message to Serve, then calls ServeMany again for the rest.
type ServeMany func(c *rpc.Call, batch [][]byte, out *Results) (served int, long []byte)

// ExpectMost is the most messages that Expect receives at once.
const ExpectMost = 64

// ServerConfig describes a server. Zero values mean the defaults.
type ServerConfig struct {
	// Device is where the server listens. It stays the caller's to close. Others
	// are further devices for ListenOn: its cores serve the clients of all, and
	// sleep until one of them has something.
	Device fabric.Device
	Others []fabric.Device
	// Serve handles all messages. It runs on every core at the same time, one
	// message at a time on each.
	Serve Serve
	// Expect, when not nil, is called with batches before they are served, and ServeMany,
	// when not nil, serves what it can of those.
	Expect    Expect
	ServeMany ServeMany
	// Cores is the number of cores; default 1. CPUs, when not empty, names the
	// CPU of each.
	Cores int
	CPUs  []int
	// Policy says whether idle cores sleep; the default does.
	Policy fabric.Policy
	// Window and Results are the most slots of a session for requests and for
	// results (at least twice as many), Payload the most bytes in a frame.
	// Defaults 16, 32 and 2048. A session has what its client asks for
	// (ConnConfig.Window, ConnConfig.Payload) up to that.
	Window, Results, Payload int
	// MaxMessage is the longest request or result; default 1 MiB.
	MaxMessage int
	// Bulk is how many bytes a session has for pieces of long requests, from its first long
	// request on; default 256 KiB, and negative is none: then long messages travel in parts of a
	// frame's length, as those do that come before the memory is there. A client may ask for
	// less. For pieces of long results there are as many, on shared memory seven times: results
	// no longer than Bulk use only the first Bulk bytes of it.
	Bulk int
	// MaxClients is how many sessions there can be on a core; default 1024.
	MaxClients int
	// PushAbove is the length of a result above which its frames are pushed in any mode,
	// because fetching many frames costs more; default 8192.
	PushAbove int
	// Pollers, when not empty, names for each core what it serves beside this path. Admit,
	// when not nil, is given every connection request first, and reports whether it was
	// for one of those: then it is not touched here any more.
	Pollers [][]rpc.Poller
	Admit   func(dev fabric.Device, req fabric.ConnRequest) bool
	// Log gets connects, and sessions that ended for a reason; default: none.
	Log *slog.Logger
}

const (
	defaultWindow     = 16
	defaultPayload    = 2048
	defaultMaxMessage = 1 << 20
	defaultPushAbove  = 8192
	defaultBulk       = 256 << 10
	maxBulk           = 1 << 28

	minPayload = 256
	maxPayload = 1 << 20
	minMessage = 64 // so that a failure says something
	maxMessage = 1<<30 - 1
	maxRing    = 1024
	maxCores   = 1024
)

// complete sets the defaults, and returns what all servers have in common.
func (c *ServerConfig) complete() (*serving.Config, error) {
	c.Window = cmp.Or(c.Window, defaultWindow)
	c.Results = cmp.Or(c.Results, 2*c.Window)
	c.Payload = cmp.Or(c.Payload, defaultPayload)
	c.MaxMessage = cmp.Or(c.MaxMessage, defaultMaxMessage)
	c.PushAbove = cmp.Or(c.PushAbove, defaultPushAbove)
	c.Bulk = cmp.Or(c.Bulk, defaultBulk)
	common := &serving.Config{
		Path: "rfp", Devices: append([]fabric.Device{c.Device}, c.Others...), Serve: c.Serve, Cores: c.Cores, CPUs: c.CPUs,
		Policy: c.Policy, MaxClients: c.MaxClients, Log: c.Log,
	}
	common.Cores = cmp.Or(common.Cores, 1)
	var err error
	if n := len(c.Pollers); n != 0 && n != common.Cores {
		err = fmt.Errorf("%d pollers for %d cores", n, common.Cores)
	}
	err = common.Complete(
		err,
		serving.Between("Window", c.Window, 1, maxRing),
		serving.Between("Results", c.Results, 2*c.Window, 2*maxRing),
		serving.Between("Payload", c.Payload, minPayload, maxPayload),
		serving.Between("MaxMessage", c.MaxMessage, minMessage, maxMessage),
		serving.Between("Bulk", c.Bulk, -1, maxBulk),
	)
	c.Cores, c.MaxClients = common.Cores, common.MaxClients
	return common, err
}

// Server serves messages of any number of clients. Its methods may be called
// from any goroutine.
type Server struct {
	cfg  ServerConfig
	base serving.Server[*core, *session]
}

// NewServer starts the cores. Call Listen to have clients, and Close at the end.
func NewServer(cfg ServerConfig) (*Server, error) {
	s, err := newServer(cfg)
	if err != nil {
		return nil, err
	}
	s.base.Start()
	return s, nil
}

// newServer makes a server whose cores do not run.
func newServer(cfg ServerConfig) (*Server, error) {
	common, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg}
	common.Admit = s.admit
	s.base.Init(common, (*session).free)
	if err := s.base.AddCores(s.newCore); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// bulk is the length of the area for pieces of requests, 0 when there is none.
func (c *ServerConfig) bulk() int { return max(c.Bulk, 0) }

// Listen takes clients at an address of the server's first device, until Close.
// It returns the address that was really taken.
func (s *Server) Listen(addr fabric.Addr, cfg fabric.ListenConfig) (fabric.Addr, error) {
	return s.ListenOn(s.cfg.Device, addr, cfg)
}

// ListenOn is Listen at an address of any of the server's devices.
func (s *Server) ListenOn(dev fabric.Device, addr fabric.Addr, cfg fabric.ListenConfig) (fabric.Addr, error) {
	return s.base.Listen(dev, addr, cfg)
}

// StopListening takes no more clients; those that there are go on.
func (s *Server) StopListening() { s.base.StopListening() }

// SetMaxClients changes how many sessions there can be on a core, to at most the
// number that the server was made for. Sessions that there are go on.
func (s *Server) SetMaxClients(n int) error { return s.base.SetMaxClients(n) }

// Close ends all sessions and stops the cores. Calls that are being served are
// finished, their results are not.
func (s *Server) Close() error { return s.base.Close() }

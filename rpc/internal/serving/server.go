package serving

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
)

// Config is the common part of the configurations of all servers. The configuration of a path
// documents its fields; a path also sets Path and Admit.
type Config struct {
	// Path is the name of the path, for errors and the log.
	Path    string
	Devices []fabric.Device
	Serve   func(c *rpc.Call, msg, out []byte) ([]byte, error)
	Cores   int
	CPUs    []int
	Wake    func(core int)
	Policy  fabric.Policy
	// MaxClients is how many clients there can be, in all or on each core.
	MaxClients int
	// Admit accepts a connection request, or returns why it does not. ctx bounds the
	// handshake. It is called by a goroutine for each request.
	Admit func(ctx context.Context, dev fabric.Device, req fabric.ConnRequest) error
	Log   *slog.Logger
}

const (
	// MaxCores is how many cores a server can have.
	MaxCores          = 1024
	defaultMaxClients = 1024
)

// Complete sets the defaults and returns what is wrong, with the faults that the path has found.
func (c *Config) Complete(faults ...error) error {
	c.Cores = cmp.Or(c.Cores, 1)
	c.MaxClients = cmp.Or(c.MaxClients, defaultMaxClients)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	faults = append(faults, Between("Cores", c.Cores, 1, MaxCores), Between("MaxClients", c.MaxClients, 1, 1<<20))
	if len(c.Devices) == 0 || slices.Contains(c.Devices, nil) {
		faults = append(faults, errors.New("no Device"))
	}
	if c.Serve == nil {
		faults = append(faults, errors.New("no Serve: give it Mux.Serve"))
	}
	if n := len(c.CPUs); n != 0 && n != c.Cores {
		faults = append(faults, fmt.Errorf("%d CPUs for %d cores", n, c.Cores))
	}
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("%s: server: %w", c.Path, err)
	}
	return nil
}

// Server is an acceptor, cores of type C, and a reaper of sessions of type S.
type Server[C Runner, S any] struct {
	*Acceptor
	Cores  []C
	Reaper *Reaper[S]
}

// Runner is a core as its server uses it. A path embeds Core and adds the rest.
type Runner interface {
	Start(Moves)
	Moves() Moves
	Stop()
	Close()
}

// Init makes the acceptor and the reaper.
func (s *Server[C, S]) Init(cfg *Config, free func(S)) {
	s.Acceptor, s.Reaper = NewAcceptor(cfg), NewReaper(free)
}

// AddCores makes the cores. They do not run.
func (s *Server[C, S]) AddCores(newCore func(index int) (C, error)) error {
	for i := range s.cfg.Cores {
		c, err := newCore(i)
		if err != nil {
			return fmt.Errorf("%s: core %d: %w", s.cfg.Path, i, err)
		}
		s.Cores = append(s.Cores, c)
	}
	return nil
}

// Start runs the cores, unless a host drives them.
func (s *Server[C, S]) Start() {
	for _, c := range s.Cores {
		if s.cfg.Wake == nil {
			c.Start(c.Moves())
		}
	}
}

// StopCores ends the cores, as many as there are.
func (s *Server[C, S]) StopCores() {
	for _, c := range s.Cores {
		c.Stop()
		c.Close()
	}
}

// Close admits no more clients and ends the cores and the reaper. A second Close returns
// rpc.ErrClosed.
func (s *Server[C, S]) Close() error {
	if err := s.Acceptor.Close(); err != nil {
		return err
	}
	s.StopCores()
	s.Reaper.Close()
	return nil
}

// On returns the one of all that is on a device, nil if none is. They are in the order of the
// devices of the server.
func On[T any](a *Acceptor, all []*T, dev fabric.Device) *T {
	if i := slices.Index(a.cfg.Devices, dev); i >= 0 {
		return all[i]
	}
	return nil
}

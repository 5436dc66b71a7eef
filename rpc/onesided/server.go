package onesided

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/internal/serving"
	"github.com/remora-kv/remora/store"
)

// ServerConfig describes a server. Zero values mean the defaults.
type ServerConfig struct {
	// Device is where clients connect. It stays the caller's to close.
	Device fabric.Device
	// Instance tells this start of a server from any other.
	Instance uint64
	// MaxClients is how many clients there can be; default 1024.
	MaxClients int
	// Log receives connects and refusals; default: none.
	Log *slog.Logger
}

const (
	defaultMaxClients = 1024
	maxMaxClients     = 1 << 20
)

// Server lets clients READ tables. Its methods may be called from any goroutine.
//
// It is made before the partitions, whose memory comes from its Arena, and opened when
// they are there. At the end Close ends the connections; then the partitions give
// their memory back, and Release ends what was left for them.
type Server struct {
	cfg    ServerConfig
	arena  *store.Arena
	domain fabric.Domain
	reads  *Acceptor

	mu        sync.Mutex
	open      bool
	directory *fabric.Region
	welcome   welcome
}

// NewServer makes a server that has no tables yet.
func NewServer(cfg ServerConfig) (*Server, error) {
	cfg.MaxClients = cmp.Or(cfg.MaxClients, defaultMaxClients)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	err := serving.Between("MaxClients", cfg.MaxClients, 1, maxMaxClients)
	if cfg.Device == nil {
		err = errors.Join(err, errors.New("no Device"))
	}
	if err != nil {
		return nil, fmt.Errorf("onesided: server: %w", err)
	}
	s := &Server{cfg: cfg}
	s.arena = store.NewArena(s.allocate)
	if s.domain, err = cfg.Device.NewDomain(); err != nil {
		return nil, fmt.Errorf("onesided: server: %w", err)
	}
	s.reads = NewAcceptor(AcceptorConfig{
		Path: "onesided", Device: cfg.Device, Domain: s.domain, MaxClients: cfg.MaxClients,
		Hello: checkHello, Welcome: s.privateWelcome, Log: cfg.Log,
	})
	return s, nil
}

// Arena is where partitions have their memory from: what they export is registered with
// the device.
func (s *Server) Arena() *store.Arena { return s.arena }

// allocate is the source of the arena.
func (s *Server) allocate(purpose string, size int, writable bool) ([]byte, any, func() error, error) {
	access := fabric.RemoteRead
	if writable {
		access |= fabric.RemoteAtomic
	}
	r, err := s.domain.Alloc(purpose, size, access)
	if err != nil {
		return nil, nil, nil, err
	}
	return r.Bytes(), r, r.Close, nil
}

// Open says what there is to read. From now on clients are admitted.
func (s *Server) Open(tables []store.Export) error {
	d := directory{instance: s.cfg.Instance}
	for i := range tables {
		t := table{layout: tables[i].Layout}
		for _, b := range tables[i].Areas {
			r, ok := b.Owner().(*fabric.Region)
			if !ok || r.Domain() != s.domain {
				return fmt.Errorf("onesided: server: %q of table %d is not memory of its arena: %w", b.Purpose(), i, fabric.ErrInvalid)
			}
			t.areas = append(t.areas, area{r.Remote(), int64(b.Size()), r.Access()&fabric.RemoteAtomic != 0})
		}
		if len(t.layout) > store.MaxLayout || len(t.areas) > store.MaxAreas || len(tables) > maxTables {
			return fmt.Errorf("onesided: server: table %d of %d has %d areas and a layout of %d bytes: %w",
				i, len(tables), len(t.areas), len(t.layout), fabric.ErrInvalid)
		}
		d.tables = append(d.tables, t)
	}
	text := d.bytes()
	r, err := s.domain.Alloc("directory", len(text), fabric.RemoteRead)
	if err != nil {
		return fmt.Errorf("onesided: server: %w", err)
	}
	copy(r.Bytes(), text)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open, s.directory, s.welcome = true, r, welcome{r.Remote(), len(text)}
	return nil
}

// TryAdmit admits a connection request of this path, and reports whether this was one. A host
// calls it.
func (s *Server) TryAdmit(dev fabric.Device, req fabric.ConnRequest) bool {
	if req.Transport() != fabric.RC || !protocol.Speaks(req.Private()) {
		return false
	}
	s.reads.Admit(dev, req)
	return true
}

// privateWelcome returns the private data that a connection is accepted with.
func (s *Server) privateWelcome() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.open {
		return nil, fmt.Errorf("onesided: there is nothing to read: %w", rpc.ErrClosed)
	}
	return s.welcome.bytes(), nil
}

// Stats returns what the server has done.
func (s *Server) Stats() Stats { return s.reads.Stats() }

// Close ends all connections, and admits no more clients. A second Close does nothing.
func (s *Server) Close() error {
	s.mu.Lock()
	s.open = false
	s.mu.Unlock()
	s.reads.Close()
	return nil
}

// Release ends a closed server, when all partitions have given their memory back.
func (s *Server) Release() error {
	var err error
	if s.directory != nil {
		err = s.directory.Close()
	}
	return errors.Join(err, s.domain.Close())
}

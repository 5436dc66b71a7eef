package onesided

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/arena"
	"github.com/remora-kv/remora/internal/knob"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/store"
)

// ServerConfig describes a server. Zero values mean the defaults.
type ServerConfig struct {
	// Device is where visitors come from. It stays the caller's to close.
	Device fabric.Device
	// Instance tells this start of a server from any other.
	Instance uint64
	// MaxClients is how many visitors there can be; default 1024.
	MaxClients int
	// Log gets connects and refusals; default: none.
	Log *slog.Logger
}

const (
	defaultMaxClients = 1024
	maxMaxClients     = 1 << 20
	// depth is that of the queues of a visitor at the server, which posts nothing.
	depth = 1
	// handshakeTime bounds the making of a connection.
	handshakeTime = 10 * time.Second
)

// Server lets visitors READ tables. Its methods may be called from any goroutine.
//
// It is made before the partitions, whose memory comes from its Arena, and opened when
// they are there. At the end Close sends the visitors away; then the partitions give
// their memory back, and Release ends what was left for them.
type Server struct {
	cfg    ServerConfig
	arena  *arena.Arena
	domain fabric.Domain
	ctx    context.Context //nolint:containedctx // it ends with the server
	cancel context.CancelFunc
	wg     sync.WaitGroup // visitors

	mu        sync.Mutex
	open      bool
	directory *fabric.Region
	welcome   welcome
	visitors  map[*visitor]struct{}
	stats     Stats
	past      fabric.Counters
}

// Stats is what a server has done.
type Stats struct {
	Clients  int    `json:"clients"`
	Connects uint64 `json:"connects"`
	Refused  uint64 `json:"refused"`
	// In is what visitors did.
	In fabric.Counters `json:"-"`
}

// NewServer makes a server that has no tables yet.
func NewServer(cfg ServerConfig) (*Server, error) {
	knob.Default(&cfg.MaxClients, defaultMaxClients)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	err := knob.Between("MaxClients", cfg.MaxClients, 1, maxMaxClients)
	if cfg.Device == nil {
		err = errors.Join(err, errors.New("no Device"))
	}
	if err != nil {
		return nil, fmt.Errorf("onesided: server: %w", err)
	}
	s := &Server{cfg: cfg, visitors: map[*visitor]struct{}{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.arena = arena.NewFrom(s.allocate)
	if s.domain, err = cfg.Device.NewDomain(); err != nil {
		return nil, fmt.Errorf("onesided: server: %w", err)
	}
	return s, nil
}

// Arena is where partitions have their memory from: what they export is registered with
// the device.
func (s *Server) Arena() *arena.Arena { return s.arena }

// allocate is the source of the arena.
func (s *Server) allocate(purpose string, size int, seal arena.Seal) ([]byte, any, func() error, error) {
	access := fabric.RemoteRead
	if seal == arena.ReadWriteForOthers {
		access |= fabric.RemoteAtomic
	}
	r, err := s.domain.Alloc(purpose, size, access)
	if err != nil {
		return nil, nil, nil, err
	}
	return r.Bytes(), r, r.Close, nil
}

// Open says what there is to read. From now on visitors are admitted.
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

// visitor is a client's connection. Its queues belong to the goroutine that attends it.
type visitor struct {
	cq fabric.CQ
	qp fabric.QP

	counted fabric.QP // qp for Stats, under Server.mu
}

// accept makes the connection.
func (v *visitor) accept(ctx context.Context, s *Server, req fabric.ConnRequest, w *welcome) (err error) {
	if v.cq, err = s.cfg.Device.NewCQ(2 * depth); err != nil {
		return err
	}
	v.qp, err = req.Accept(ctx, fabric.QPConfig{
		Transport: fabric.RC, Domain: s.domain, SendCQ: v.cq, RecvCQ: v.cq, SendDepth: depth, RecvDepth: depth,
	}, w.bytes())
	return err
}

func (v *visitor) close() {
	if v.qp != nil {
		_ = v.qp.Close()
	}
	if v.cq != nil {
		_ = v.cq.Close()
	}
}

// AdmitGuest is what a host shows its connection requests: it takes those that are for
// this path, and reports whether this was one.
func (s *Server) AdmitGuest(dev fabric.Device, req fabric.ConnRequest) bool {
	if req.Transport() != fabric.RC || !isHello(req.Private()) {
		return false
	}
	if err := s.admit(dev, req); err != nil {
		s.cfg.Log.Warn("client refused", "path", "onesided", "peer", req.Peer().Addr, "err", err)
		text := []byte(err.Error())
		_ = req.Reject(text[:min(len(text), dev.Limits().MaxPrivate)])
	}
	return true
}

func (s *Server) admit(dev fabric.Device, req fabric.ConnRequest) error {
	v := new(visitor)
	w, err := s.enter(dev, req, v)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(s.ctx, handshakeTime)
	defer cancel()
	if err := v.accept(ctx, s, req, &w); err != nil {
		v.close()
		s.leave(v)
		return err
	}
	s.cfg.Log.Debug("client connected", "path", "onesided", "qp", v.qp.Num(), "peer", v.qp.Peer().Addr)
	s.mu.Lock()
	v.counted = v.qp
	s.mu.Unlock()
	go s.attend(v)
	return nil
}

// enter takes a place for a visitor, which leave gives back.
func (s *Server) enter(dev fabric.Device, req fabric.ConnRequest, v *visitor) (welcome, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := checkHello(req.Private())
	switch {
	case err != nil:
	case !s.open:
		err = fmt.Errorf("onesided: there is nothing to read: %w", rpc.ErrClosed)
	case dev != s.cfg.Device:
		err = fmt.Errorf("onesided: items can be read on %s alone", s.cfg.Device.Fabric())
	case len(s.visitors) >= s.cfg.MaxClients:
		err = fmt.Errorf("onesided: there are %d clients already", len(s.visitors))
	}
	if err != nil {
		s.stats.Refused++
		return welcome{}, err
	}
	s.visitors[v] = struct{}{}
	s.stats.Connects++
	s.wg.Add(1)
	return s.welcome, nil
}

// attend waits until a visitor is over, or the server. It owns the queue pair (T1), and
// there is nothing to poll: the server posts nothing.
func (s *Server) attend(v *visitor) {
	select {
	case <-v.qp.Done():
	case <-s.ctx.Done():
	}
	v.close()
	s.leave(v)
}

func (s *Server) leave(v *visitor) {
	s.mu.Lock()
	delete(s.visitors, v)
	if v.counted != nil {
		n := v.counted.Counters()
		s.past.Add(&n)
	}
	s.mu.Unlock()
	s.wg.Done()
}

// Stats returns what the server has done.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stats
	st.Clients, st.In = len(s.visitors), s.past
	for v := range s.visitors {
		if v.counted != nil {
			n := v.counted.Counters()
			st.In.Add(&n)
		}
	}
	return st
}

// Close sends all visitors away, and admits no more. A second Close does nothing.
func (s *Server) Close() error {
	s.mu.Lock()
	s.open = false
	s.mu.Unlock()
	s.cancel()
	s.wg.Wait()
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

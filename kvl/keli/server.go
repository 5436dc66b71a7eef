package keli

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/rfp"
)

// Server serves generations of items. Its methods may be called from any goroutine.
type Server struct {
	cfg       Config
	clock     fabric.Clock
	instance  uint64
	rfp       *rfp.Server
	exporters []*exporter
	published atomic.Pointer[generations]
	epochs    []coreEpoch
	lookups   []coreStats
	reclaimer reclaimer

	publishing sync.Mutex // held while an image is built
	next       uint64     // number of the next generation, under publishing

	mu     sync.Mutex
	closed bool
	old    []*generation // replaced, in the order in which they were current
	stats  publishStats

	retired []retired // lease over; waiting until no core uses them

	reclaiming sync.Mutex // held while memory is given back, and taken before mu
}

// NewServer starts a server without a generation. Call Publish and Listen, and Close at
// the end.
func NewServer(cfg Config) (*Server, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, clock: cfg.Device.Clock(), next: cfg.FirstGeneration, instance: random64()}
	if s.next == 0 {
		s.next = random64()>>16 + 1
	}
	s.published.Store(new(generations))
	s.epochs, s.lookups = make([]coreEpoch, cfg.Cores), make([]coreStats, cfg.Cores)
	if err := s.start(); err != nil {
		_ = s.Close()
		return nil, fmt.Errorf("keli: server: %w", err)
	}
	return s, nil
}

// random64 returns a number that no other start of a server has.
func random64() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:])
}

func (s *Server) start() error {
	for _, dev := range append([]fabric.Device{s.cfg.Device}, s.cfg.Others...) {
		p, err := newExporter(dev, s.instance, s.cfg.MaxClients, s.cfg.Log)
		if err != nil {
			return err
		}
		s.exporters = append(s.exporters, p)
	}
	if err := s.reclaimer.start(s); err != nil {
		return err
	}
	var mux rpc.Mux
	mux.Handle(procLookup, s.serveLookup)
	mux.Handle(procInfo, func(_ *rpc.Call, out []byte) ([]byte, error) { return appendJSON(out, s.Info()) })
	mux.Handle(procStats, func(_ *rpc.Call, out []byte) ([]byte, error) { return appendJSON(out, s.Stats()) })
	mux.Handle(procReload, s.serveReload)
	var err error
	s.rfp, err = rfp.NewServer(rfp.ServerConfig{
		Device: s.cfg.Device, Others: s.cfg.Others, Serve: mux.Serve, Cores: s.cfg.Cores, CPUs: s.cfg.CPUs,
		Policy: fabric.PolicyOf(s.cfg.BusyPoll), MaxClients: s.cfg.MaxClients, Admit: s.admit, Log: s.cfg.Log,
	})
	return err
}

func appendJSON(out []byte, v any) ([]byte, error) {
	text, err := json.Marshal(v)
	return append(out, text...), err
}

// admit accepts the connection requests of readers, and leaves all others to rfp.
func (s *Server) admit(dev fabric.Device, req fabric.ConnRequest) bool {
	if req.Transport() != fabric.RC || !isHello(req.Private()) {
		return false
	}
	i := slices.IndexFunc(s.exporters, func(p *exporter) bool { return p.device == dev })
	if i < 0 {
		return false
	}
	s.exporters[i].readers.Admit(dev, req)
	return true
}

// Listen accepts clients at an address of the server's first device, until Close. It returns
// the address that it listens at.
func (s *Server) Listen(addr fabric.Addr, cfg fabric.ListenConfig) (fabric.Addr, error) {
	return s.rfp.Listen(addr, cfg)
}

// ListenOn is Listen at an address of any of the server's devices.
func (s *Server) ListenOn(dev fabric.Device, addr fabric.Addr, cfg fabric.ListenConfig) (fabric.Addr, error) {
	return s.rfp.ListenOn(dev, addr, cfg)
}

// serveLookup answers a lookup, on a core.
func (s *Server) serveLookup(c *rpc.Call, out []byte) ([]byte, error) {
	if len(c.Request) < requestHead {
		return out, &rpc.Error{Code: rpc.CodeMalformed, Text: "keli: a lookup begins with a generation"}
	}
	list := s.epochs[c.Core].enter(s.published.Load)
	defer s.epochs[c.Core].leave()
	a := list.lookup(binary.LittleEndian.Uint64(c.Request), c.Request[requestHead:])
	s.lookups[c.Core].count(a.status)
	return a.append(out), nil
}

// lookup finds a key in a generation.
func (l *generations) lookup(number uint64, key []byte) (a answer) {
	g := l.find(number)
	if g == nil {
		a.status = noGeneration
		if len(*l) != 0 {
			a.generation = (*l)[0].number()
		}
		return a
	}
	a.generation = g.number()
	link, ok := g.image.Lookup(key)
	if !ok {
		a.status = notFound
		return a
	}
	if a.link = link; link.Len() > maxSent {
		a.status = foundLong
		return a
	}
	a.record, _ = g.image.Record(link)
	return a
}

// Close ends all connections and gives all memory back. A second Close returns ErrClosed.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return ErrClosed
	}
	s.closed = true
	s.mu.Unlock()
	var err error
	if s.rfp != nil {
		err = s.rfp.Close()
	}
	s.reclaimer.stop()
	s.publishing.Lock() // wait for a build
	defer s.publishing.Unlock()
	for _, p := range s.exporters {
		p.readers.Close()
	}
	for _, g := range *s.published.Swap(new(generations)) {
		err = errors.Join(err, g.close())
	}
	for _, l := range s.retired {
		err = errors.Join(err, l.close())
	}
	s.mu.Lock()
	s.old, s.retired = nil, nil
	s.mu.Unlock()
	for _, p := range s.exporters {
		err = errors.Join(err, p.close())
	}
	return err
}

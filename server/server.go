package server

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/herd"
	"github.com/remora-kv/remora/rpc/onesided"
	"github.com/remora-kv/remora/rpc/rfp"
	"github.com/remora-kv/remora/rpc/sendrecv"
	"github.com/remora-kv/remora/server/text"
	"github.com/remora-kv/remora/store"
)

// Server is a running cache.
type Server struct {
	cfg      Config
	started  time.Time
	welcome  command.Welcome
	arena    *store.Arena
	shards   []*shard
	devices  []fabric.Device
	places   []place
	rfp      *rfp.Server
	herd     *herd.Server     // nil where no device can have it
	exports  *onesided.Server // nil where clients read nothing
	sendrecv *sendrecv.Server
	text     textListeners
	reports  *reports                      // nil until there are cores
	addrs    atomic.Pointer[[]fabric.Addr] // a client may ask while others are added

	draining atomic.Bool
	once     sync.Once
	err      error
}

// Start makes the partitions, starts the cores and listens on all addresses. If
// one of them fails, nothing is left behind.
func Start(cfg Config) (*Server, error) {
	cfg, err := cfg.Complete()
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, started: time.Now(), arena: store.NewArena(nil)} //lint:allow time.Now start of the process
	if err := s.start(); err != nil {
		_ = s.Close()
		return nil, fmt.Errorf("server: %w", err)
	}
	return s, nil
}

func (s *Server) start() error {
	s.introduce()
	if err := s.openDevices(); err != nil {
		return err
	}
	if err := s.makeExports(); err != nil {
		return err
	}
	if err := s.makeShards(); err != nil {
		return err
	}
	if err := s.openExports(); err != nil {
		return err
	}
	if err := s.makeHerd(); err != nil {
		return err
	}
	if err := s.makeSendRecv(); err != nil {
		return err
	}
	if err := s.makeText(); err != nil {
		return err
	}
	cfg := rfp.ServerConfig{
		Device: s.devices[0], Others: s.devices[1:], Serve: s.serve, Expect: s.hints(), ServeMany: s.serveMany,
		Cores: s.cfg.Cores, CPUs: s.cfg.CPUs, Policy: fabric.PolicyOf(s.cfg.BusyPoll),
		MaxMessage: s.cfg.MaxValue + command.MaxKey + command.PutSize + command.FoundSize,
		MaxClients: s.cfg.MaxClients, Log: s.cfg.Log,
		Pollers: make([][]rpc.Poller, s.cfg.Cores), Admit: s.admit,
	}
	s.addHerdPollers(&cfg)
	s.addSendRecvPollers(&cfg)
	s.addTextPollers(&cfg)
	var err error
	if s.rfp, err = rfp.NewServer(cfg); err != nil {
		return err
	}
	s.reports = startReports(s)
	if err := s.listen(); err != nil {
		return err
	}
	return s.openText()
}

// introduce draws what is new with every start.
func (s *Server) introduce() {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	s.welcome = command.Welcome{
		Protocol: command.Protocol, Version: s.cfg.Version,
		Seed: binary.LittleEndian.Uint64(b[:]), Instance: binary.LittleEndian.Uint64(b[8:]) >> 1,
		Cores: s.cfg.Cores, MaxKey: s.cfg.MaxKey, MaxValue: s.cfg.MaxValue, Engine: s.cfg.Engine, Mode: modeName(s.cfg.Mode),
		Paths: []string{pathRFP, pathReply},
	}
}

// makeShards makes the partitions.
func (s *Server) makeShards() error {
	clock := s.devices[0].Clock()
	epoch := s.started.UnixMilli() - clock.Now()/int64(time.Millisecond)
	parts, err := engines[s.cfg.Engine](store.Config{
		Arena: s.arena, Memory: s.cfg.Memory, MaxValue: s.cfg.MaxValue,
		Seed: store.Seed(s.welcome.Seed), FirstVersion: s.firstVersion(),
		Mode: s.cfg.Mode, Eviction: s.cfg.Eviction,
	}, s.cfg.Cores)
	if err != nil {
		return err
	}
	for i, part := range parts {
		sh := &shard{server: s, index: i, part: part, seed: store.Seed(s.welcome.Seed), clock: clock, epoch: epoch}
		sh.reader = store.ReaderOf(part)
		if !s.cfg.NoPrefetch {
			sh.prefetch, _ = part.(store.Prefetcher)
		}
		s.shards = append(s.shards, sh)
	}
	return nil
}

// prefetches reports whether prefetching is on.
func (s *Server) prefetches() bool { return s.shards[0].prefetch != nil }

// hints returns expect if the engine takes hints.
func (s *Server) hints() rfp.Expect {
	if !s.prefetches() {
		return nil
	}
	return s.expect
}

// firstVersion is where the versions of this instance begin: it makes versions
// that a client remembers from before a restart useless.
func (s *Server) firstVersion() uint64 { return s.welcome.Instance >> 17 }

// Addrs returns the addresses that the server listens on, as they really are.
func (s *Server) Addrs() []fabric.Addr {
	if addrs := s.addrs.Load(); addrs != nil {
		return *addrs
	}
	return nil
}

// Config returns the configuration that the server was started with.
func (s *Server) Config() Config { return s.cfg }

// SetMaxClients changes how many clients a core takes, to at most the number that
// the server was started with. Clients that there are stay.
func (s *Server) SetMaxClients(n int) error {
	err := errors.Join(s.rfp.SetMaxClients(n), s.sendrecv.SetMaxClients(n))
	if err == nil && s.herd != nil {
		err = s.herd.SetMaxClients(s.allClients(n))
	}
	if err != nil {
		return err
	}
	for _, l := range s.text.listeners {
		l.SetMaxClients(s.allClients(n))
	}
	return nil
}

// place is an address to listen on, and the device that it is an address of.
type place struct {
	addr fabric.Addr
	dev  fabric.Device
}

// openDevices opens one device for each different fabric and choice of options.
func (s *Server) openDevices() error {
	known := make(map[string]fabric.Device)
	for _, url := range s.cfg.Listen {
		if text.IsAddr(url) {
			continue
		}
		addr, err := fabric.ParseAddr(url)
		if err != nil {
			return err
		}
		key := fabric.Addr{Fabric: addr.Fabric, Options: addr.Options}.String()
		if known[key] == nil {
			dev, err := s.cfg.Providers.Open(url)
			if err != nil {
				return fmt.Errorf("%s: %w", url, err)
			}
			if s.cfg.wrap != nil {
				dev = s.cfg.wrap(dev)
			}
			known[key] = dev
			s.devices = append(s.devices, dev)
		}
		s.places = append(s.places, place{addr, known[key]})
	}
	if len(s.devices) != 0 {
		return nil
	}
	dev, err := s.cfg.Providers.Open(innerDevice)
	if err == nil {
		s.devices = append(s.devices, dev)
	}
	return err
}

// listen listens on all addresses.
func (s *Server) listen() error {
	for _, p := range s.places {
		addr, err := s.rfp.ListenOn(p.dev, p.addr, fabric.ListenConfig{
			Mode: s.cfg.SocketMode, AllowUIDs: s.cfg.AllowUIDs, AllowGIDs: s.cfg.AllowGIDs,
		})
		if err != nil {
			return fmt.Errorf("cannot listen on %s: %w", p.addr, err)
		}
		addrs := append(slices.Clone(s.Addrs()), addr)
		s.addrs.Store(&addrs)
		s.cfg.Log.Info("listening", "addr", addr.String(), "fabric", addr.Fabric)
	}
	return nil
}

// Drain ends the service in order: clients cannot read items directly any more, no new
// clients, requests from now on are answered with Draining, and when all clients have been
// quiet for a moment, or ctx is over, the server is closed.
func (s *Server) Drain(ctx context.Context) error {
	if s.exports != nil { // first: after it writes go to a successor (V3)
		_ = s.exports.Close()
	}
	s.draining.Store(true)
	s.rfp.StopListening()
	s.text.stopListening()
	clients, _ := s.traffic()
	s.cfg.Log.Info("draining", "clients", clients)
	tick := time.NewTicker(drainQuiet)
	defer tick.Stop()
	for before := uint64(0); ; {
		clients, calls := s.traffic()
		if clients == 0 || calls == before {
			break
		}
		before = calls
		select {
		case <-tick.C:
		case <-ctx.Done():
			s.cfg.Log.Warn("closing connections of clients that still send", "clients", clients)
			return s.Close()
		}
	}
	return s.Close()
}

// drainQuiet is how long clients must be quiet.
const drainQuiet = 50 * time.Millisecond

// Close ends all sessions and frees the memory. A second Close does nothing.
func (s *Server) Close() error {
	s.once.Do(func() {
		s.err = s.text.close() // while there are cores to answer them
		if s.reports != nil {
			s.reports.close()
		}
		if s.rfp != nil {
			s.err = errors.Join(s.err, s.rfp.Close())
		}
		if s.herd != nil { // whose cores rfp has closed
			s.err = errors.Join(s.err, s.herd.Close())
		}
		if s.sendrecv != nil {
			s.err = errors.Join(s.err, s.sendrecv.Close())
		}
		s.closeExports()
		for _, d := range s.devices {
			s.err = errors.Join(s.err, d.Close())
		}
	})
	return s.err
}

func modeName(m store.Mode) string {
	if m == store.Store {
		return "store"
	}
	return "cache"
}

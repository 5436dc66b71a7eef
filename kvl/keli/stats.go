package keli

import (
	"sync/atomic"
	"time"

	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/kvl"
	"github.com/remora-kv/remora/rpc/onesided"
)

// Info describes a server.
type Info struct {
	Protocol   int           `json:"protocol"`
	Instance   uint64        `json:"instance"`
	Generation uint64        `json:"generation"` // 0: none yet
	Lease      time.Duration `json:"lease_ns"`
	Cores      int           `json:"cores"`
}

// Info describes the server.
func (s *Server) Info() Info {
	return Info{Protocol: version, Instance: s.instance, Generation: s.Generation(), Lease: s.cfg.Lease, Cores: s.cfg.Cores}
}

// Stats are the statistics of a server.
type Stats struct {
	Info
	// Image describes the current generation.
	Image kvl.Stats `json:"image"`
	// Old is the number of generations that are kept until their lease ends.
	Old int `json:"old"`
	// Published and Failed count generations. LastFailed says that the last build failed,
	// LastFailure is the error of the last failed build, and LastBuild the duration of the last
	// successful one.
	Published   uint64        `json:"published"`
	Failed      uint64        `json:"failed"`
	LastFailed  bool          `json:"last_failed,omitempty"`
	LastFailure string        `json:"last_failure,omitempty"`
	LastBuild   time.Duration `json:"last_build_ns"`
	// Lookups counts calls, Missing those for keys without an item, and Stale those for
	// generations that the server does not have.
	Lookups uint64 `json:"lookups"`
	Missing uint64 `json:"missing"`
	Stale   uint64 `json:"stale"`
	// Memory is the memory of images and of the builder, by purpose, on all devices. Readers
	// describes the reader connections.
	Memory  []kvl.Usage      `json:"memory"`
	Readers []onesided.Stats `json:"readers"` // by device
}

// publishStats are counts of Publish, under Server.mu.
type publishStats struct {
	building    bool
	done, fails uint64
	lastFailed  bool
	why         string
	took        time.Duration
}

func (p *publishStats) ended() uint64 { return p.done + p.fails }

func (p *publishStats) published(took int64) {
	p.building, p.lastFailed, p.done, p.took = false, false, p.done+1, time.Duration(took)
}

func (p *publishStats) failed(err error) {
	p.building, p.lastFailed, p.fails, p.why = false, true, p.fails+1, err.Error()
}

// coreStats are counts of a core.
type coreStats struct {
	_                       [64]byte
	lookups, missing, stale atomic.Uint64
	_                       [40]byte
}

func (c *coreStats) count(s status) {
	fence.Count(&c.lookups, 1)
	switch s {
	case notFound:
		fence.Count(&c.missing, 1)
	case noGeneration:
		fence.Count(&c.stale, 1)
	default:
	}
}

// Stats returns the statistics of the server.
func (s *Server) Stats() Stats {
	st := Stats{Info: s.Info()}
	s.mu.Lock()
	if line := *s.published.Load(); len(line) != 0 {
		st.Image = line[0].image.Stats()
	}
	st.Old, st.Published, st.Failed, st.LastFailure, st.LastBuild = len(s.old), s.stats.done, s.stats.fails, s.stats.why, s.stats.took
	st.LastFailed = s.stats.lastFailed
	s.mu.Unlock()
	for i := range s.lookups {
		c := &s.lookups[i]
		st.Lookups += c.lookups.Load()
		st.Missing += c.missing.Load()
		st.Stale += c.stale.Load()
	}
	for _, p := range s.exporters {
		st.Memory = append(st.Memory, p.memory.Usage()...)
		st.Readers = append(st.Readers, p.readers.Stats())
	}
	return st
}

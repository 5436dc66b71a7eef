package keli

import (
	"sync/atomic"
	"time"

	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/kvl"
	"github.com/remora-kv/remora/rpc/visit"
)

// Info is what a server says about itself.
type Info struct {
	Protocol   int           `json:"protocol"`
	Instance   uint64        `json:"instance"`
	Generation uint64        `json:"generation"` // 0: none yet
	Lease      time.Duration `json:"lease_ns"`
	Cores      int           `json:"cores"`
}

// Info returns what the server says about itself.
func (s *Server) Info() Info {
	return Info{Protocol: version, Instance: s.instance, Generation: s.Generation(), Lease: s.cfg.Lease, Cores: s.cfg.Cores}
}

// Stats is what a server has and has done.
type Stats struct {
	Info
	// Image is what the current generation has.
	Image kvl.Stats `json:"image"`
	// Old is how many generations wait for the end of their lease.
	Old int `json:"old"`
	// Published and Failed count generations, and LastFailed says that the last one failed.
	// LastFailure is why the last one that failed did, and LastBuild how long the last one took
	// that did not.
	Published   uint64        `json:"published"`
	Failed      uint64        `json:"failed"`
	LastFailed  bool          `json:"last_failed,omitempty"`
	LastFailure string        `json:"last_failure,omitempty"`
	LastBuild   time.Duration `json:"last_build_ns"`
	// Lookups are calls, Missing those of them without an item, and Stale those for a
	// generation that is not there.
	Lookups uint64 `json:"lookups"`
	Missing uint64 `json:"missing"`
	Stale   uint64 `json:"stale"`
	// Memory is that of images, by purpose, on all devices. Visitors are those who read.
	Memory   []kvl.Usage   `json:"memory"`
	Visitors []visit.Stats `json:"visitors"` // by device
}

// publishStats are counts of Publish, under Server.mu.
type publishStats struct {
	building    bool
	done, fails uint64
	bad         bool // the last one failed
	why         string
	took        time.Duration
}

func (p *publishStats) ended() uint64 { return p.done + p.fails }

func (p *publishStats) published(took int64) {
	p.building, p.bad, p.done, p.took = false, false, p.done+1, time.Duration(took)
}

func (p *publishStats) failed(err error) {
	p.building, p.bad, p.fails, p.why = false, true, p.fails+1, err.Error()
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

// Stats returns what the server has and has done.
func (s *Server) Stats() Stats {
	st := Stats{Info: s.Info()}
	s.mu.Lock()
	if line := *s.lineup.Load(); len(line) != 0 {
		st.Image = line[0].image.Stats()
	}
	st.Old, st.Published, st.Failed, st.LastFailure, st.LastBuild = len(s.old), s.stats.done, s.stats.fails, s.stats.why, s.stats.took
	st.LastFailed = s.stats.bad
	s.mu.Unlock()
	for i := range s.lookups {
		c := &s.lookups[i]
		st.Lookups += c.lookups.Load()
		st.Missing += c.missing.Load()
		st.Stale += c.stale.Load()
	}
	for _, p := range s.places {
		st.Memory = append(st.Memory, p.memory.Usage()...)
		st.Visitors = append(st.Visitors, p.hall.Stats())
	}
	return st
}

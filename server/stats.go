package server

import (
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/rpc/herd"
	"github.com/remora-kv/remora/rpc/onesided"
	"github.com/remora-kv/remora/rpc/rfp"
	"github.com/remora-kv/remora/rpc/sendrecv"
	"github.com/remora-kv/remora/server/text"
	"github.com/remora-kv/remora/store"
)

// Stats describes one core, and those of core 0 the server too.
type Stats struct {
	Core     int    `json:"core"`
	Cores    int    `json:"cores"`
	Instance uint64 `json:"instance"`
	Version  string `json:"version"`
	Engine   string `json:"engine"`
	Mode     string `json:"mode"`
	Poll     string `json:"poll"`
	Prefetch bool   `json:"prefetch"` // prefetching is on
	UptimeMS int64  `json:"uptime_ms"`

	// Ops are requests by procedure, whatever became of them.
	Ops      map[string]uint64  `json:"ops"`
	Store    store.Stats        `json:"store"`
	RPC      rfp.ServerStats    `json:"rpc"`
	Sessions []rfp.SessionStats `json:"clients"`
	Herd     *herd.ServerStats  `json:"herd,omitempty"`

	SendRecv sendrecv.ServerStats `json:"sendrecv"`

	// Of the whole server; only core 0 has them.
	Listen []string `json:"listen,omitempty"`
	// RSS is the resident set of the process, and Memory what it is used for.
	RSS     int64    `json:"rss,omitempty"`
	Memory  []Memory `json:"memory,omitempty"`
	Fabrics []Fabric `json:"fabrics,omitempty"`
	// Readers are the clients that read items without a core; nil where none can.
	Readers *Readers `json:"readers,omitempty"`
	// Text are the listeners for lines over plain TCP.
	Text []text.Stats `json:"text,omitempty"`
}

// Readers counts clients that read items directly, by links or on a path on which they
// search. On RDMA adapters Verbs and Bytes are empty.
type Readers struct {
	onesided.Stats
	Verbs map[string]uint64 `json:"verbs"`
	Bytes uint64            `json:"bytes"`
}

// Fabric is a device that the server uses, with its verbs: Out are those that it
// initiated, In those of clients, by name.
type Fabric struct {
	Fabric   string            `json:"fabric"`
	Device   string            `json:"device"`
	Out      map[string]uint64 `json:"out"`
	In       map[string]uint64 `json:"in"`
	OutBytes uint64            `json:"out_bytes"`
	InBytes  uint64            `json:"in_bytes"`
	Errors   uint64            `json:"errors"`
}

// describe returns the statistics of a core, and those of the server with core 0. The core copies
// its counters, and describes a few sessions at a time.
func (sh *shard) describe() *Stats {
	s := sh.server
	st := &Stats{
		Core: sh.index, Cores: s.cfg.Cores, Instance: s.welcome.Instance, Version: s.cfg.Version,
		Engine: s.cfg.Engine, Mode: s.welcome.Mode, Poll: fabric.PolicyOf(s.cfg.BusyPoll).String(), Prefetch: sh.prefetch != nil,
		UptimeMS: sh.epoch + s.devices[0].Clock().Now()/1e6 - s.started.UnixMilli(),
		Ops:      make(map[string]uint64, opCount), Sessions: []rfp.SessionStats{},
	}
	var ops [opCount]uint64
	next := 0
	s.rfp.Do(sh.index, func() {
		ops, next = sh.ops, sh.describeSessions(st, 0)
		st.Store, st.RPC, st.SendRecv = sh.part.Stats(), s.rfp.CoreStats(sh.index), s.sendrecv.CoreStats(sh.index)
		if s.herd != nil {
			st.Herd = new(herd.ServerStats)
			*st.Herd = s.herd.CoreStats(sh.index)
		}
	})
	for next >= 0 {
		s.rfp.Do(sh.index, func() { next = sh.describeSessions(st, next) })
	}
	for proc, n := range ops {
		st.Ops[command.Proc(proc).String()] = n
	}
	if sh.index == 0 {
		sh.describeServer(st)
	}
	return st
}

// describeSessions adds some sessions from a place on, and returns the next place, -1 at the end.
func (sh *shard) describeSessions(st *Stats, from int) (next int) {
	some, next := sh.server.rfp.Sessions(sh.index, from, sessionsAtOnce)
	st.Sessions = append(st.Sessions, some...)
	return next
}

func (sh *shard) describeServer(st *Stats) {
	s := sh.server
	st.RSS, st.Memory = s.memory()
	for _, dev := range s.devices {
		st.Fabrics = append(st.Fabrics, describeDevice(dev))
	}
	if s.exports != nil {
		st.Readers = describeReaders(s.exports.Stats())
	}
	for _, addr := range s.Addrs() {
		st.Listen = append(st.Listen, addr.String())
	}
	st.Listen = append(st.Listen, s.TextAddrs()...)
	st.Text = s.text.stats()
}

func describeDevice(dev fabric.Device) Fabric {
	c := dev.Counters()
	return Fabric{
		Fabric: dev.Fabric(), Device: dev.Name(), OutBytes: c.OutBytes, InBytes: c.InBytes, Errors: c.Errors,
		Out: verbsOf(&c.Out), In: verbsOf(&c.In),
	}
}

func describeReaders(st onesided.Stats) *Readers {
	return &Readers{Stats: st, Verbs: verbsOf(&st.In.In), Bytes: st.In.InBytes}
}

// verbsOf are counts by name, without those that are 0.
func verbsOf(counts *[fabric.NumOps]uint64) map[string]uint64 {
	verbs := make(map[string]uint64)
	for op, n := range counts {
		if n != 0 {
			verbs[fabric.Op(op).String()] = n
		}
	}
	return verbs
}

// Uptime is how long the server has been running.
func (s *Server) Uptime() time.Duration { return time.Since(s.started) } //lint:allow time.Now not in the data path

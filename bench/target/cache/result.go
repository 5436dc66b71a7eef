package cache

import (
	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/load"
)

// Row is one measurement: one trial of one case. Its JSON form is one line of
// `remora bench cache --json`.
type Row struct {
	Path      string  `json:"path"`
	Engine    string  `json:"engine"`
	Fabric    string  `json:"fabric"`
	GetPct    float64 `json:"get_pct"`
	Dist      string  `json:"dist"`
	Theta     float64 `json:"theta"` // 0 where it is uniform
	Keys      int     `json:"keys"`
	KeySize   int     `json:"key_size"`
	ValueSize int     `json:"value_size"`
	Clients   int     `json:"clients"`
	Window    int     `json:"window"`
	Batch     int     `json:"batch"`
	bench.Measure
	Misses     uint64          `json:"misses"` // gets that found nothing
	Verbs      load.VerbsPerOp `json:"verbs_per_op"`
	Goroutines int             `json:"goroutines"` // of each client
	// Client is what makes the operations: session and client are Remora's,
	// pipeline is that of this package, gomemcache and go-redis are what they are.
	Client        string `json:"client"`
	ServerVersion string `json:"server_version"`
	Cores         int    `json:"cores"`
	Poll          string `json:"poll"`
	// Prefetch says whether the server loads ahead what operations need: on or off, ""
	// of others than Remora.
	Prefetch  string `json:"prefetch"`
	FetchSize int    `json:"fetch_size"`
	Retries   int    `json:"retries"`
	Links     int    `json:"links"`   // that each connection remembers; -1 as it finds worth while
	Recency   string `json:"recency"` // how the server learns of what they lead to
	// Cache is the percentage of the keys that was to fit, 0 where Memory was given.
	// Memory is what the server may keep, 0 of one that was running, and Items how many it
	// had in the end; nil of text.
	Cache  float64 `json:"cache_pct"`
	Memory int64   `json:"memory"`
	Items  *int64  `json:"items"`
	// Rate is how many operations a second began in an open loop, whether or not others
	// had ended; 0: the loop was closed.
	Rate float64 `json:"rate"`
	// ScanPct is the percentage of operations that belong to scans.
	ScanPct float64 `json:"scan_pct"`
	// Workload is the name of the one that was asked for. RMWPct and InsertPct are the
	// percentages of read-modify-writes and of puts of new keys, HotOps and HotKeys those
	// of hotspot.
	Workload  string  `json:"workload,omitempty"`
	RMWPct    float64 `json:"rmw_pct,omitempty"`
	InsertPct float64 `json:"insert_pct,omitempty"`
	HotOps    float64 `json:"hot_ops_pct,omitempty"`
	HotKeys   float64 `json:"hot_keys_pct,omitempty"`
	// Trace is the file that the operations came from.
	Trace string `json:"trace,omitempty"`
	// KeyDist and ValueDist name the distributions of sizes, of which KeySize and
	// ValueSize are the means.
	KeyDist   string `json:"key_dist,omitempty"`
	ValueDist string `json:"value_dist,omitempty"`
	// Fill says whether every get that missed was followed by a put of its key. These
	// puts are operations like others, so that gets may be fewer than GetPct.
	Fill bool `json:"fill"`
	// Gets are those of the operations, and HitRatio which share of them found an item;
	// nil where there were none.
	Gets     uint64   `json:"gets"`
	HitRatio *float64 `json:"hit_ratio"`
	Seed     uint64   `json:"seed"`
	// ErrorsByKind are the errors by their kind: of Remora's which it is, of others what the
	// server said.
	ErrorsByKind map[string]uint64 `json:"errors_by_kind,omitempty"`
	// BytesPerItem is the server's memory for items and for finding them, divided by Items;
	// nil where nobody knows.
	BytesPerItem *float64 `json:"bytes_per_item,omitempty"`
	// Processes is how many processes had so many Clients each; 0: they were of bench itself.
	Processes int `json:"processes,omitempty"`
	// Protocol is how memcached was asked, a name from Protocols; "" of others.
	Protocol string `json:"protocol,omitempty"`

	// Placement is what client and server shared their CPUs with, as Config.Placements says;
	// "" of a server that was running.
	Placement string `json:"placement"`

	// Generator is how many operations a second a thread of the client does where server and
	// way cost nothing (C14); 0: it was not measured.
	Generator float64 `json:"generator_ops_per_sec,omitempty"`

	index int   // of the case
	why   error // of the first error
}

// rowOf makes the row of one trial, except for its measure and for what its server knows.
func rowOf(s *Case, t *load.Tally) Row {
	return Row{
		Misses: t.Misses,
		Path:   s.Path, Engine: s.Engine, Fabric: s.Fabric, GetPct: s.GetPct, Dist: s.Dist, Theta: s.Theta,
		Keys: s.Keys, KeySize: s.KeySize, ValueSize: s.ValueSize, Clients: s.Clients, Window: s.Window, Batch: s.Batch, Rate: s.Rate,
		Goroutines: s.Goroutines, Cores: s.Cores, Poll: s.Poll.String(), FetchSize: s.FetchSize, Retries: s.Retries, Links: s.Links, Recency: s.Recency,
		Cache: s.Cache, Memory: s.Memory, ScanPct: s.ScanPct, Fill: s.Fill,
		Trace: s.Trace, Workload: s.Workload, RMWPct: s.RMWPct, InsertPct: s.InsertPct, HotOps: s.HotOps, HotKeys: s.HotKeys, KeyDist: s.KeyDist, ValueDist: s.ValueDist,
		Gets: t.Gets, HitRatio: hitRatio(t),
		why:       t.Why,
		Placement: s.Placement, Processes: s.Processes, Protocol: s.Protocol, ErrorsByKind: t.Kinds,
	}
}

// inFlight is how many operations all clients keep in flight in a closed loop; 0: a trace has
// gaps.
func (r *Row) inFlight() int {
	n := r.Window * r.Batch
	if r.Goroutines != 0 {
		n = r.Goroutines
	}
	if r.Trace != "" {
		n = 0
	}
	return n * r.Clients * max(r.Processes, 1)
}

// hitRatio is the share of gets that found an item, nil where there were none.
func hitRatio(t *load.Tally) *float64 {
	if t.Gets == 0 {
		return nil
	}
	r := load.Round(1-float64(t.Misses)/float64(t.Gets), 6)
	return &r
}

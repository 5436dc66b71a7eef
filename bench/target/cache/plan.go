package cache

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/bench/target"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/rpc/wire"
	"github.com/remora-kv/remora/server"
	"github.com/remora-kv/remora/store"
)

// Case is what one row measures: every parameter fixed. It goes to the server
// process as it is.
type Case struct {
	// The target. Of memcached and Redis the fabric is the network, and the engine
	// the program.
	Path, Fabric, Engine, Prefetch string
	Protocol                       string // of memcached
	// The load.
	Trace              string // the file that operations come from; empty: they are made
	Workload           string // of which the mix is, where it was not given
	GetPct, RMWPct     float64
	InsertPct          float64 // of puts, which are of new keys
	Dist               string
	Theta, ScanPct     float64
	HotOps, HotKeys    float64
	Fill               bool
	Keys               int
	KeySize, ValueSize int    // of distributions the means
	KeyDist, ValueDist string // empty: all are of one size
	Processes          int    // that have Clients each; 0: they are of this one
	Clients            int
	Goroutines         int
	Window, Batch      int
	Cores              int
	Poll               fabric.Policy
	Retries, FetchSize int
	Links              int
	Recency            string // of links
	Placement          string // "": nobody knows
	Memory             int64
	Rate               float64 // operations a second of an open loop; 0: the loop is closed
	Cache              float64 // percentage of the keys that the memory holds; 0: Memory says
}

// Title names a case for people.
func (k *Case) Title() string {
	s := k.Path
	switch {
	case isOurs(k.Path):
		s += " " + k.Fabric + " " + k.Engine
	case k.Path == PathText:
		s += " " + k.Engine
	}
	if k.Protocol == ProtocolMeta {
		s += " " + k.Protocol
	}
	if k.Prefetch == PrefetchOff {
		s += " without prefetching"
	}
	if k.Links != 0 {
		s += fmt.Sprintf(" with %s links %s", linksText(k.Links), k.Recency)
	}
	if k.Workload != "" {
		s += " " + k.Workload
	}
	if !k.sharing().Own() {
		s += " placement " + k.Placement
	}
	s += " " + valueText(k.ValueDist, k.ValueSize)
	if k.Rate != 0 {
		s += fmt.Sprintf(" %g/s", k.Rate)
	}
	if k.Processes != 0 {
		s += fmt.Sprintf(" %d processes of", k.Processes)
	}
	if k.Goroutines != 0 {
		return s + fmt.Sprintf(" %d goroutines", k.Clients*k.Goroutines)
	}
	return s + fmt.Sprintf(" %d clients window %d batch %d", k.Clients, k.Window, k.Batch)
}

// plan expands the configuration into cases, those of different targets that bear
// the same load side by side.
func (c *Config) plan() []Case {
	cases := []Case{{
		Keys: c.Keys, KeySize: c.KeySize, Cores: c.Cores, Poll: c.Poll, ScanPct: c.ScanPct, Fill: c.Fill,
		HotOps: c.HotOps, HotKeys: c.HotKeys, KeyDist: c.KeyDist, Trace: c.Trace,
		Retries: c.Retries, FetchSize: c.FetchSize, Memory: c.Memory,
	}}
	cases = c.mixes(cases)
	cases = multiply(cases, c.Thetas, func(k *Case, v float64) { k.Theta = v })
	cases = slices.Concat(
		multiply(cases, c.ValueSizes, func(k *Case, v int) { k.ValueSize = v }),
		multiply(cases, c.ValueDists, func(k *Case, v string) { k.ValueDist = v }))
	cases = multiply(cases, orZero(c.Caches), func(k *Case, v float64) { k.Cache = v })
	cases = multiply(cases, orZero(c.Processes), func(k *Case, v int) { k.Processes = v })
	cases = multiply(cases, c.Clients, func(k *Case, v int) { k.Clients = v })
	cases = multiply(cases, c.Goroutines, func(k *Case, v int) { k.Goroutines = v })
	cases = multiply(cases, orZero(c.Rates), func(k *Case, v float64) { k.Rate = v })
	cases = multiply(cases, c.Placements, func(k *Case, v string) { k.Placement = v })
	cases = multiply(cases, orZero(c.Windows), func(k *Case, v int) { k.Window = v })
	cases = multiply(cases, orZero(c.Batches), func(k *Case, v int) { k.Batch = v })
	cases = multiply(cases, c.Paths, func(k *Case, v string) { k.Path = v })
	cases = multiply(cases, c.Protocols, func(k *Case, v string) { k.Protocol = v })
	cases = multiply(cases, c.Fabrics, func(k *Case, v string) { k.Fabric = v })
	cases = multiply(cases, c.Engines, func(k *Case, v string) { k.Engine = v })
	cases = multiply(cases, c.Prefetches, func(k *Case, v string) { k.Prefetch = v })
	cases = multiply(cases, orZero(c.Links), func(k *Case, v int) { k.Links = v })
	cases = multiply(cases, c.Recencies, func(k *Case, v string) { k.Recency = v })
	var out []Case
	for i := range cases {
		k := &cases[i]
		k.settle(c)
		if !slices.Contains(out, *k) {
			out = append(out, *k)
		}
	}
	return out
}

// multiply makes one case for every value, of each.
func multiply[T any](cases []Case, values []T, set func(*Case, T)) []Case {
	var out []Case
	for _, k := range cases {
		for _, v := range values {
			set(&k, v)
			out = append(out, k)
		}
	}
	return out
}

func orZero[T int | float64](list []T) []T {
	bench.OrDefault(&list, 0)
	return list
}

// settle fills in what follows from the rest.
func (k *Case) settle(c *Config) {
	k.settleMix()
	k.settleTrace()
	k.settleSizes()
	if k.Goroutines != 0 {
		k.Window = cmp.Or(k.Window, clientWindow)
		k.Batch = cmp.Or(k.Batch, clientBatch)
	}
	k.Window = cmp.Or(k.Window, 1)
	k.Batch = cmp.Or(k.Batch, 1)
	if k.Cache == 0 {
		k.Memory = cmp.Or(k.Memory, max(leastMemory, 2*k.dataset()))
	}
	if n := len(c.Agents); n != 0 {
		k.Processes = n * max(k.Processes, 1)
	}
	if k.Path != PathMemcached {
		k.Protocol = ""
	}
	if single(k.Path) {
		k.Batch = 1
	}
	if k.Path != PathRFP && (k.Path != PathReply || k.Links == LinksAuto) {
		k.Links = 0
	}
	if k.Links == 0 {
		k.Recency = ""
	}
	switch {
	case c.Server != "":
		k.Placement = ""
	case k.Path == PathNull:
		k.Placement = host.ShareOwn
	}
	if isOurs(k.Path) {
		if e := server.Engine(k.Path); e != "" {
			k.Engine = e
		}
		if k.Goroutines == 0 {
			k.FetchSize = cmp.Or(k.FetchSize, k.wholeAnswer())
		}
		if c.Server != "" {
			k.Fabric, k.Engine, k.Prefetch, k.Memory = "", "", "", 0 // the server knows
		}
		return
	}
	k.Prefetch = ""
	switch k.Path {
	case PathText:
		k.Fabric = target.NetTCP
	case PathNull:
		k.Fabric, k.Engine = provider.Shm, k.Path
	default:
		k.Fabric, k.Engine = c.Network, k.Path
	}
	k.Retries, k.FetchSize = 0, 0
	if k.Goroutines != 0 {
		k.Window, k.Batch = 1, 1 // of each goroutine
	}
}

// LinksAuto has clients find out for themselves whether links are worth while, as they do
// when they are told nothing.
const LinksAuto = -1

// linksText says how many links there are.
func linksText(n int) string {
	if n == LinksAuto {
		return "auto"
	}
	return strconv.Itoa(n)
}

// dataset is about what the keys take.
func (k *Case) dataset() int64 {
	const overhead = 80 // of an item in any of the servers
	return int64(k.Keys) * int64(k.KeySize+k.ValueSize+overhead)
}

// wholeAnswer is the F that brings the answer of a full frame (C10); 0, the
// default, for values that do not fit one.
func (k *Case) wholeAnswer() int {
	overhead := command.FoundSize
	if k.Links != 0 {
		overhead = command.PlacedSize
	}
	if k.ValueDist != "" {
		return k.usualAnswer(overhead)
	}
	one := wire.EntryHeader + k.ValueSize + overhead
	if one > framePayload {
		return 0
	}
	return max(minFetch, wire.ResultBytes(min(k.Batch*one, framePayload)))
}

// framePayload is what a frame of rfp holds.
const framePayload = 2048

// most is how many operations a driver has in flight (C1).
func (k *Case) most() int { return k.Window * k.Batch }

// callers is the number of threads or goroutines that work.
func (k *Case) callers() int { return max(k.Processes, 1) * k.Clients * max(k.Goroutines, 1) }

// threads is how many threads are pinned.
func (k *Case) threads() int {
	if k.Goroutines != 0 {
		return max(k.Processes, 1)
	}
	return max(k.Processes, 1) * k.Clients
}

// maxValue is the longest value that the server must take.
func (k *Case) maxValue() int {
	if longest := k.longestValue(); longest > store.DefaultMaxValue {
		return longest
	}
	return 0 // the default, which is less where a small cache has no room for it
}

// load is the case without its target.
func (k Case) load() Case {
	k.Path, k.Fabric, k.Engine, k.Prefetch, k.Retries, k.FetchSize, k.Window, k.Batch = "", "", "", "", 0, 0, 0, 0
	k.Links, k.Recency, k.Protocol = 0, "", ""
	return k
}

// together makes groups of the cases that bear the same load, whose trials are interleaved
// (C8).
func together(cases []Case) (groups []bench.Group[Case]) {
	for start := 0; start < len(cases); {
		end := start + 1
		for end < len(cases) && cases[end].load() == cases[start].load() {
			end++
		}
		groups = append(groups, bench.Group[Case]{Cases: cases[start:end], Fresh: true})
		start = end
	}
	return groups
}

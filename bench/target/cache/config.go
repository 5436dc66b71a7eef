package cache

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/bench/target"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/server"
	"github.com/remora-kv/remora/store"
)

// The paths.
const (
	PathRFP      = "rfp"      // results are fetched, and pushed while the server is slow
	PathReply    = "reply"    // results are always pushed
	PathHerd     = "herd"     // requests by UC, results by UD
	PathSendRecv = "sendrecv" // requests and results by SEND over RC
	// Items are found by READs of the client: in slots, with or without an atomic to count
	// each use, in cuckoo, hopscotch and hopscotch-var.
	PathOneSided    = "onesided"
	PathOneSidedFAA = "onesided-faa"
	PathPilaf       = "pilaf"
	PathFarm        = "farm"
	PathFarmVar     = "farm-var"

	PathText      = "text"      // Remora, asked by lines over plain TCP
	PathMemcached = "memcached" // memcached itself
	PathRedis     = "redis"     // redis-server itself

	PathNull = "null" // nothing: the generator alone
)

// Paths returns the names of all paths.
func Paths() []string { return append(ourPaths(), PathText, PathMemcached, PathRedis, PathNull) }

func ourPaths() []string {
	return append([]string{PathRFP, PathReply, PathHerd, PathSendRecv}, searchPaths()...)
}

// searchPaths are those on which clients find items by themselves.
func searchPaths() []string {
	return []string{PathOneSided, PathOneSidedFAA, PathPilaf, PathFarm, PathFarmVar}
}

// single reports whether a path has no batches: an operation is a request of its own.
func single(path string) bool {
	return path == PathHerd || path == PathSendRecv || server.Engine(path) != ""
}

// isOurs reports whether a path is one of Remora over a fabric.
func isOurs(path string) bool { return slices.Contains(ourPaths(), path) }

// The distributions.
const (
	DistUniform   = "uniform"
	DistZipf      = "zipf"
	DistScanMixed = "scan-mixed" // zipf, with scans over all keys between
	DistHotspot   = "hotspot"    // most operations go to a few keys, all of these alike
	DistLatest    = "latest"     // zipf by how recently keys were inserted, which puts do
)

// Whether the server loads ahead what operations will need.
const (
	PrefetchOn  = "on"
	PrefetchOff = "off"
)

// Prefetches returns the names for it.
func Prefetches() []string { return []string{PrefetchOn, PrefetchOff} }

// Recencies returns the names of how a server learns of what is read without it.
func Recencies() []string {
	return []string{
		string(remora.RecencyBatched), string(remora.RecencyAtomic), string(remora.RecencySampled), string(remora.RecencyNone),
	}
}

// Dists returns the names of all distributions.
func Dists() []string { return []string{DistUniform, DistZipf, DistScanMixed, DistHotspot, DistLatest} }

// Networks returns the names of the networks to memcached and Redis.
func Networks() []string { return []string{target.NetTCP, target.NetUnix} }

// Config says what is to be measured. Zero values mean the defaults. Fields that
// are lists make one case for every combination.
type Config struct {
	// Paths are names from Paths; default PathRFP. Fabrics and Engines are those of
	// Remora, default shm and mica, and Prefetches names from Prefetches, default
	// PrefetchOn. Network is how memcached and Redis are reached, default tcp.
	Paths, Fabrics, Engines, Prefetches []string
	Network                             string
	// Protocols are names from Protocols: how memcached is asked, default ProtocolText.
	Protocols []string
	// Workloads are names from Workloads: they say GetPcts, RMWPcts and Dists where these
	// are not given.
	Workloads []string
	// GetPcts are percentages of gets, default 95, and RMWPcts those of read-modify-writes,
	// default 0: a get, and when its result is there a put of its key, in one operation.
	// The others are puts.
	GetPcts, RMWPcts []float64
	// Dists are names from Dists, default DistUniform, and Thetas the skews of
	// DistZipf, DistScanMixed and DistLatest, default 0.99. ScanPct is the percentage of
	// the operations of DistScanMixed that belong to scans, default 20. Of DistHotspot
	// HotOps percent of the operations, default 80, go to HotKeys percent of the keys,
	// default 20.
	Dists           []string
	Thetas          []float64
	ScanPct         float64
	HotOps, HotKeys float64
	// Trace is the name of a file of operations, which are replayed instead of making some
	// (load.Trace): once, or again and again where Duration or Ops is given. Nothing is
	// stored before.
	Trace string
	// Fill has every get that misses followed by a put of that key, as an application
	// does that keeps in the cache what it has fetched from elsewhere.
	Fill bool
	// Keys is how many there are, default a million, KeySize their bytes, default
	// 16, and ValueSizes those of values, default 32. KeyDist instead, and ValueDists
	// besides, are distributions: uniform:1-899, etc, and of values weibo.
	Keys       int
	KeySize    int
	ValueSizes []int
	KeyDist    string
	ValueDists []string
	// Processes, when not 0, are how many processes have so many clients each; default 0,
	// which are those of this process.
	Processes []int
	// Agents, when there are any, are addresses of agents (ServeAgent) on other machines, each
	// of which starts so many processes, at least one; Token is what they want to know.
	Agents []string
	Token  string
	// Clients are threads, each with its own connections, default 1. Goroutines,
	// when not 0, are how many callers each client has instead.
	Clients, Goroutines []int
	// Windows are frames in flight on each connection, default 1, and Batches
	// operations in a frame, default 1. With Goroutines they are what a
	// remora.Client has, default 8 and 32.
	Windows, Batches []int
	// Cores is the number of the server's cores, or threads; default 1.
	Cores int
	// Placements say what client and server share their CPUs with, as host.ParseSharing reads
	// it; default own: each has CPUs of its own.
	Placements []string
	// Poll says how the threads of both sides wait.
	Poll fabric.Policy
	// Retries and FetchSize are R and F; 0 for R is the default of rfp, for F see
	// C10 of the package doc.
	Retries, FetchSize int
	// Links are for how many keys a client remembers where their items are, and reads
	// them there; default 0. It is of rfp and reply. LinksAuto leaves it to the client.
	Links []int
	// Recencies are names from Recencies: how the server learns of what is read by
	// links; default batched.
	Recencies []string
	// Memory bounds what the server keeps; default what the keys take, twice, and
	// at least a GiB.
	Memory int64
	// Caches, when there are any, say the memory otherwise: as the percentage of the keys
	// that the server can keep, which is found out before by storing them.
	Caches []float64
	// Rates, when there are any, open the loop: operations begin at so many a second in
	// all, whether or not others have ended, and their latency counts from when they should
	// have begun. 0 is a closed loop. It is of connections, not of Goroutines.
	Rates []float64
	// Duration is how long a trial measures; Ops, when not 0, ends it after so many
	// operations of each client (each goroutine) instead.
	Duration time.Duration
	Ops      int
	// Warmup runs before each trial and is not reported; with Ops there is none.
	// WarmupOps, when not 0, is a warm-up of so many operations of each client instead.
	Warmup    time.Duration
	WarmupOps int
	Trials    int
	// Seed makes the operations; the same seed makes the same ones.
	Seed uint64
	// Server, when not empty, is the URL of a server that runs, and which is used
	// instead of starting one. NoLoad says that it has the keys already.
	Server string
	NoLoad bool
	// NoGenerator leaves out measuring what the generator does alone (D6).
	NoGenerator bool
}

// Defaults of a Config.
const (
	DefaultFabric    = provider.Shm
	DefaultGetPct    = 95
	DefaultTheta     = 0.99
	DefaultScanPct   = 20
	DefaultHotOps    = 80
	DefaultHotKeys   = 20
	DefaultKeys      = 1_000_000
	DefaultKeySize   = 16
	DefaultValueSize = 32
	DefaultDuration  = 3 * time.Second
	DefaultWarmup    = 300 * time.Millisecond
	DefaultSeed      = 1
	clientWindow     = 8 // of a remora.Client
	clientBatch      = 32
	leastMemory      = 1 << 30
)

// Bounds of what is taken from a command line.
const (
	maxKeys         = 1 << 40
	maxMemcachedKey = 250
	maxValue        = store.MaxValueLimit
	maxWindow       = 1024
	maxRate         = 1e9
	maxBatch        = 1024
	maxClients      = 4096
	maxGoroutines   = 1 << 16
	maxProcesses    = 1024
	maxTheta        = 10
	maxLinks        = 1 << 28
	minFetch        = 16
	maxFetch        = 1 << 20
)

func (c *Config) defaults() {
	bench.OrDefault(&c.Paths, PathRFP)
	bench.OrDefault(&c.Fabrics, DefaultFabric)
	bench.OrDefault(&c.Engines, server.DefaultEngine)
	bench.OrDefault(&c.Prefetches, PrefetchOn)
	c.Network = cmp.Or(c.Network, target.NetTCP)
	bench.OrDefault(&c.Protocols, ProtocolText)
	bench.OrDefault(&c.Thetas, DefaultTheta)
	c.ScanPct = cmp.Or(c.ScanPct, DefaultScanPct)
	c.HotOps = cmp.Or(c.HotOps, DefaultHotOps)
	c.HotKeys = cmp.Or(c.HotKeys, DefaultHotKeys)
	c.Keys = cmp.Or(c.Keys, DefaultKeys)
	c.KeySize = cmp.Or(c.KeySize, DefaultKeySize)
	if len(c.ValueDists) == 0 {
		bench.OrDefault(&c.ValueSizes, DefaultValueSize)
	}
	bench.OrDefault(&c.Clients, 1)
	bench.OrDefault(&c.Goroutines, 0)
	bench.OrDefault(&c.Recencies, string(remora.RecencyBatched))
	bench.OrDefault(&c.Placements, host.ShareOwn)
	c.Cores = cmp.Or(c.Cores, 1)
	if c.Trace == "" {
		c.Duration = cmp.Or(c.Duration, DefaultDuration)
	}
	c.Trials = cmp.Or(c.Trials, 1)
	c.Seed = cmp.Or(c.Seed, DefaultSeed)
}

// once reports whether a trial ends with its trace, and not after a time or a number of
// operations.
func (c *Config) once() bool { return c.Trace != "" && c.Duration == 0 && c.Ops == 0 }

// normalize fills in defaults and returns all that is wrong, as one error that
// wraps ErrUsage.
func (c *Config) normalize() error {
	c.defaults()
	var errs bench.Faults
	c.checkTargets(&errs)
	c.checkLoad(&errs)
	c.hasNoClient(&errs)
	c.checkProtocols(&errs)
	c.checkProcesses(&errs)
	c.checkPlacements(&errs)
	c.checkAgents(&errs)
	errs.EachBetween("--clients", c.Clients, 1, maxClients)
	errs.EachBetween("--goroutines", c.Goroutines, 0, maxGoroutines)
	errs.EachBetween("--window", c.Windows, 1, maxWindow)
	for _, r := range c.Rates {
		if !(r >= 0 && r <= maxRate) {
			errs.Add("--rate %g: it is from 0 to %g operations a second", r, float64(maxRate))
		}
		if r != 0 && slices.ContainsFunc(c.Goroutines, func(n int) bool { return n != 0 }) {
			errs.Add("--rate is of connections, and --goroutines wait for each other: leave one out")
		}
	}
	errs.EachBetween("--batch", c.Batches, 1, maxBatch)
	errs.EachBetween("--link-cache", c.Links, LinksAuto, maxLinks)
	errs.Between("--cores", c.Cores, 1, maxClients)
	errs.Between("--retries", c.Retries, 0, 1<<20)
	if c.FetchSize != 0 {
		errs.Between("--fetch-size", c.FetchSize, minFetch, maxFetch)
	}
	if c.Memory < 0 || c.Memory != 0 && c.Memory < store.MinMemory*int64(c.Cores) {
		errs.Add("--memory of %d bytes: a core needs %d at least", c.Memory, store.MinMemory)
	}
	c.checkCaches(&errs)
	if c.Duration < 0 || c.Warmup < 0 || c.Ops < 0 || c.WarmupOps < 0 {
		errs.Add("--duration %v, --warmup %v, --ops %d and --warmup-ops %d must not be negative", c.Duration, c.Warmup, c.Ops, c.WarmupOps)
	}
	errs.Between("--trials", c.Trials, 1, 1<<20)
	return errs.Err()
}

func (c *Config) checkTargets(errs *bench.Faults) {
	errs.OneOf("--path", c.Paths, Paths())
	errs.OneOf("--fabric", c.Fabrics, provider.Names())
	errs.OneOf("--engine", c.Engines, server.Engines())
	errs.OneOf("--prefetch", c.Prefetches, Prefetches())
	errs.OneOf("--recency", c.Recencies, Recencies())
	errs.OneOf("--network", []string{c.Network}, Networks())
	if c.Server != "" {
		switch addr, err := fabric.ParseAddr(c.Server); {
		case err != nil:
			errs.Add("--server: %w", err)
		case addr.Fabric == provider.Loop:
			errs.Add("--server %s: nobody else can be reached on %s", c.Server, provider.Loop)
		case addr.Options.Has("path"):
			errs.Add("--server %s: choose the path with --path", c.Server)
		}
		if slices.ContainsFunc(c.Paths, func(p string) bool { return !isOurs(p) }) {
			errs.Add("--server is one of Remora on a fabric: use --path %s with it", strings.Join(ourPaths(), " or "))
		}
	} else if c.NoLoad {
		errs.Add("--no-load is for a server that has the keys already: give it with --server")
	}
}

// checkCaches refuses shares that cannot be, and servers whose memory is not ours to choose.
func (c *Config) checkCaches(errs *bench.Faults) {
	for _, pct := range c.Caches {
		if !(pct > 0 && pct <= 100) {
			errs.Add("--cache %v%% is not above 0 and at most 100", pct)
		}
	}
	switch {
	case len(c.Caches) == 0:
	case c.Memory != 0:
		errs.Add("--cache and --memory both say how much the server keeps: give one of them")
	case c.Server != "":
		errs.Add("--cache is for a server that bench starts; that of --server has its own memory")
	case slices.ContainsFunc(c.Paths, func(p string) bool { return !isOurs(p) }):
		errs.Add("--cache counts what stays in a server of Remora on a fabric: use --path %s with it", strings.Join(ourPaths(), " or "))
	}
}

// hasNoClient refuses goroutines for a path for which there is no client to share.
func (c *Config) hasNoClient(errs *bench.Faults) {
	if slices.Contains(c.Paths, PathText) && slices.ContainsFunc(c.Goroutines, func(n int) bool { return n != 0 }) {
		errs.Add("--goroutines share a client, and --path %s has none: use --clients", PathText)
	}
}

func (c *Config) checkLoad(errs *bench.Faults) {
	c.checkTrace(errs)
	c.checkMixes(errs)
	for _, x := range c.Thetas {
		if !(x > 0 && x <= maxTheta) {
			errs.Add("--theta %v is not above 0 and at most %d; for 0 use --dist %s", x, maxTheta, DistUniform)
		}
	}
	if !(c.ScanPct > 0 && c.ScanPct <= 100) {
		errs.Add("--scan-pct %v is not above 0 and at most 100; without scans use --dist %s", c.ScanPct, DistZipf)
	}
	errs.Between("--keys", c.Keys, 1, maxKeys)
	longest := store.MaxKey
	if slices.Contains(c.Paths, PathMemcached) {
		longest = maxMemcachedKey
	}
	c.checkSizes(errs, longest)
}

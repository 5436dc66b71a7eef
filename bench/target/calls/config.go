package calls

import (
	"cmp"
	"time"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/rpc/rfp"
)

// The paths.
const (
	PathRFP   = "rfp"   // hybrid
	PathFetch = "fetch" // results are always fetched
	PathReply = "reply" // results are always pushed
)

// Paths returns the names of all paths.
func Paths() []string { return []string{PathRFP, PathFetch, PathReply} }

// Config says what is to be measured. Zero values mean the defaults. Fields that
// are lists make one case for every combination.
type Config struct {
	// Paths are names from Paths; default PathRFP.
	Paths []string
	// Fabric is loop, shm, tcp or rdma; default shm.
	Fabric string
	// Sizes are bytes of arguments, default 32; ResultSize is that of results,
	// 0 for the same.
	Sizes      []int
	ResultSize int
	// Windows are frames in flight on each connection, default 1, and Batches
	// messages in a frame, default 1; with Goroutines at most, default 32.
	Windows, Batches []int
	// ProcessTimes is how long the handler takes.
	ProcessTimes []time.Duration
	// Clients is the number of connections that make calls, default 1, Threads
	// that of the threads that share them, default one for each, and Connected
	// how many further connections there are that do not.
	Clients, Threads int
	Connected        []int
	// Cores is the number of the server's cores; default 1.
	Cores int
	// Placements say what client and server share their CPUs with, as host.ParseSharing reads
	// it; default CPUs of their own.
	Placements []string
	// Goroutines, when not 0, is how many callers each connection has.
	Goroutines int
	// Retries and FetchSize are R and F; 0 for R is the default of rfp, for F
	// see C8 of the package doc.
	Retries, FetchSize  int
	SleepAfter          time.Duration // of rfp.Params; 0 is the default of rfp
	NoInline, SignalAll bool
	Poll                fabric.Policy
	// Limit, when not 0, lets connections choose their batch size so that at most
	// the share Alpha of the calls takes longer.
	Limit time.Duration
	Alpha float64
	// Duration is how long a trial measures; Ops, when not 0, ends it after so
	// many calls of each connection (each goroutine) instead.
	Duration time.Duration
	Ops      int
	// Warmup runs before the first trial and is not reported.
	Warmup time.Duration
	Trials int
	// Listen is where the server listens; empty means a place of its own on this
	// host. Remote says that Env.Server starts it on another.
	Listen string
	Remote bool
}

// Defaults of a Config.
const (
	DefaultFabric   = "shm"
	DefaultSize     = 32
	DefaultDuration = 3 * time.Second
	DefaultWarmup   = 300 * time.Millisecond
	clientBatch     = 32 // of an rfp.Client
)

// Bounds of what is taken from a command line.
const (
	maxSize       = 1 << 28
	maxWindow     = 1024
	maxBatch      = 1 << 14
	maxClients    = 4096
	maxConnected  = 1 << 16
	maxGoroutines = 4096
	maxProcess    = time.Second
	minFetch      = 16
	maxFetch      = 1 << 20
)

func (c *Config) defaults() {
	c.Fabric = cmp.Or(c.Fabric, DefaultFabric)
	c.Clients = cmp.Or(c.Clients, 1)
	c.Threads = cmp.Or(c.Threads, c.Clients)
	c.Cores = cmp.Or(c.Cores, 1)
	c.Duration = cmp.Or(c.Duration, DefaultDuration)
	c.Trials = cmp.Or(c.Trials, 1)
	bench.OrDefault(&c.Paths, PathRFP)
	bench.OrDefault(&c.Sizes, DefaultSize)
	bench.OrDefault(&c.Windows, 1)
	if c.Goroutines != 0 {
		bench.OrDefault(&c.Batches, clientBatch)
	}
	bench.OrDefault(&c.Batches, 1)
	bench.OrDefault(&c.ProcessTimes, 0)
	bench.OrDefault(&c.Connected, 0)
	bench.OrDefault(&c.Placements, host.ShareOwn)
}

// normalize fills in defaults and returns all that is wrong, as one error that
// wraps ErrUsage.
func (c *Config) normalize() error {
	c.defaults()
	var errs bench.Faults
	errs.OneOf("--path", c.Paths, Paths())
	errs.EachBetween("--size", c.Sizes, 1, maxSize)
	errs.Between("--result-size", c.ResultSize, 0, maxSize)
	errs.EachBetween("--window", c.Windows, 1, maxWindow)
	errs.EachBetween("--batch", c.Batches, 1, maxBatch)
	errs.EachBetween("--connected", c.Connected, 0, maxConnected)
	for _, d := range c.ProcessTimes {
		if d < 0 || d > maxProcess {
			errs.Add("--process-time %v is not between 0 and %v", d, maxProcess)
		}
	}
	c.Placements = errs.Placements(c.Placements, !c.Remote, c.Fabric != provider.Loop)
	errs.Between("--clients", c.Clients, 1, maxClients)
	errs.Between("--threads", c.Threads, 1, max(c.Clients, 1))
	errs.Between("--goroutines", c.Goroutines, 0, maxGoroutines)
	errs.Between("--cores", c.Cores, 1, maxClients)
	errs.Between("--retries", c.Retries, 0, 1<<20)
	if c.SleepAfter < 0 {
		errs.Add("--sleep-after %v must not be negative", c.SleepAfter)
	}
	if c.FetchSize != 0 {
		errs.Between("--fetch-size", c.FetchSize, minFetch, maxFetch)
	}
	if c.Limit < 0 || c.Alpha < 0 || c.Alpha >= 1 {
		errs.Add("--limit %v must not be negative and --alpha %v be between 0 and 1", c.Limit, c.Alpha)
	}
	if c.Alpha != 0 && c.Limit == 0 {
		errs.Add("--alpha is the share of calls that may take longer than --limit: give that too")
	}
	if c.Duration < 0 || c.Warmup < 0 || c.Ops < 0 {
		errs.Add("--duration %v, --warmup %v and --ops %d must not be negative", c.Duration, c.Warmup, c.Ops)
	}
	errs.Between("--trials", c.Trials, 1, 1<<20)
	return errs.Err()
}

// params are the parameters of a path.
func params(path string) rfp.Params {
	switch path {
	case PathFetch:
		return rfp.Params{Pinned: true, Mode: rfp.Fetch}
	case PathReply:
		return rfp.Params{Pinned: true, Mode: rfp.Reply}
	}
	return rfp.Params{}
}

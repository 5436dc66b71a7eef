package verbs

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
)

// Toggle is a switch for which every test has its own default.
type Toggle uint8

// The positions of a Toggle.
const (
	Auto Toggle = iota
	On
	Off
)

// or returns what the switch says, and def when it says nothing.
func (t Toggle) or(def bool) bool {
	if t == Auto {
		return def
	}
	return t == On
}

// Config says what is to be measured. Zero values mean the defaults of each
// test; see Tests.
type Config struct {
	// Tests are names from Tests, or All. Empty means All.
	Tests []string
	// Fabric is loop, shm, tcp or rdma. Empty means shm.
	Fabric string
	// Transport is rc, uc or ud. Empty means rc.
	Transport string
	// ReplyTransport is ud where the replies of echo-ws are to be datagrams though
	// its requests are not, as in HERD. Empty means as Transport.
	ReplyTransport string
	// Sizes and Windows are message sizes in bytes and numbers of operations
	// in flight; each test runs with every combination.
	Sizes, Windows []int
	// Threads is the number of client threads.
	Threads int
	// Inline and Unsignaled are the two optimisations of posting.
	Inline, Unsignaled Toggle
	// Accesses are numbers of random memory accesses that the server of echo-ws
	// and echo-ww makes for each request, in a table of Table bytes; Prefetch says
	// whether it asks for them ahead. Each combination is measured. No Accesses:
	// none; no Prefetch: ahead.
	Accesses []int
	Prefetch []bool
	Table    int
	// Placements say what client and server share their CPUs with, as host.ParseSharing reads
	// it; default CPUs of their own.
	Placements []string
	// Poll is how threads wait when nothing has come for a while.
	Poll fabric.Policy
	// Duration is how long one trial measures; Ops, when not 0, ends a trial
	// after so many operations of each client thread instead.
	Duration time.Duration
	Ops      int
	// Warmup runs before the first trial and is not reported. Trials is how
	// often each case is measured.
	Warmup time.Duration
	Trials int
	// Listen is where the server listens; empty means a place of its own on
	// this host. Remote says that Env.Server starts it on another host, where
	// what is measured of this one (limit, idle) is out of reach.
	Listen string
	Remote bool
}

// All as a test name stands for the suite: each test with the windows at which
// it is interesting.
const All = "all"

// Defaults of a Config.
const (
	DefaultFabric   = "shm"
	DefaultDuration = 3 * time.Second
	DefaultWarmup   = 300 * time.Millisecond
	// SuiteDuration is the length of a trial when the whole suite runs.
	SuiteDuration = time.Second
	// maxWindow, maxThreads and maxSize bound what is taken from a command
	// line.
	maxWindow   = 1 << 14
	maxThreads  = 256
	maxSize     = 1 << 30
	maxAccesses = 64
	maxTable    = 1 << 40
	// DefaultTable is several times what the last cache of most CPUs holds.
	DefaultTable = 1 << 30
)

// normalize fills in defaults and returns all that is wrong with what does not
// depend on a device, as one error that wraps ErrUsage.
func (c *Config) normalize() error {
	c.defaults()
	var errs bench.Faults
	for _, name := range c.Tests {
		if _, err := lookup(name); err != nil && name != All {
			errs = append(errs, err)
		}
	}
	if _, err := parseTransport(c.Transport); err != nil {
		errs = append(errs, err)
	}
	if c.ReplyTransport != "" && c.ReplyTransport != fabric.UD.String() {
		errs.Add("--reply-transport %q: replies travel as requests do, or by ud", c.ReplyTransport)
	}
	errs.EachBetween("--size", c.Sizes, 1, maxSize)
	errs.EachBetween("--window", c.Windows, 1, maxWindow)
	c.checkLookups(&errs)
	c.Placements = errs.Placements(c.Placements, !c.Remote, c.Fabric != provider.Loop)
	errs.Between("--threads", c.Threads, 0, maxThreads)
	if c.Duration < 0 || c.Warmup < 0 || c.Ops < 0 {
		errs.Add("--duration %v, --warmup %v and --ops %d must not be negative", c.Duration, c.Warmup, c.Ops)
	}
	errs.Between("--trials", c.Trials, 1, 1<<20)
	return errs.Err()
}

// checkLookups finds what is wrong with the accesses of the server.
func (c *Config) checkLookups(errs *bench.Faults) {
	errs.EachBetween("--accesses", c.Accesses, 0, maxAccesses)
	if len(c.Prefetch) != 0 && len(c.Accesses) == 0 {
		errs.Add("--prefetch is about the memory accesses of --accesses, which is missing")
	}
	if c.Table != 0 && len(c.Accesses) == 0 {
		errs.Add("--table is where --accesses go, which is missing")
	}
	if c.Table < 0 || c.Table > maxTable || (c.Table > 0 && c.Table < line) {
		errs.Add("--table of %d bytes is not between %d and %d", c.Table, line, maxTable)
	}
}

func (c *Config) defaults() {
	bench.OrDefault(&c.Tests, All)
	c.Fabric = cmp.Or(c.Fabric, DefaultFabric)
	if c.Duration == 0 {
		if c.Duration = DefaultDuration; slices.Contains(c.Tests, All) {
			c.Duration = SuiteDuration
		}
	}
	c.Trials = cmp.Or(c.Trials, 1)
	bench.OrDefault(&c.Placements, host.ShareOwn)
	if c.Table == 0 && len(c.Accesses) != 0 {
		c.Table = DefaultTable
	}
}

// parseTransport reads a transport; the empty name is rc.
func parseTransport(name string) (fabric.Transport, error) {
	for _, t := range []fabric.Transport{fabric.RC, fabric.UC, fabric.UD} {
		if name == t.String() {
			return t, nil
		}
	}
	if name == "" {
		return fabric.RC, nil
	}
	return 0, fmt.Errorf("--transport %q is unknown: use rc, uc or ud", name)
}

package call

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc/rfp"
)

// ErrUsage is wrapped by every error that the user mends by asking for
// something else.
var ErrUsage = errors.New("cannot be measured as asked")

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
	// Windows are frames on their way on each connection, default 1, and Batches
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
	// Goroutines, when not 0, is how many callers each connection has.
	Goroutines int
	// Retries and FetchSize are R and F; 0 for R is the default of rfp, for F
	// see C8 of the package doc.
	Retries, FetchSize  int
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
	orDefault(&c.Fabric, DefaultFabric)
	orDefault(&c.Clients, 1)
	orDefault(&c.Threads, c.Clients)
	orDefault(&c.Cores, 1)
	orDefault(&c.Duration, DefaultDuration)
	orDefault(&c.Trials, 1)
	orDefaults(&c.Paths, PathRFP)
	orDefaults(&c.Sizes, DefaultSize)
	orDefaults(&c.Windows, 1)
	if c.Goroutines != 0 {
		orDefaults(&c.Batches, clientBatch)
	}
	orDefaults(&c.Batches, 1)
	orDefaults(&c.ProcessTimes, 0)
	orDefaults(&c.Connected, 0)
}

func orDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

func orDefaults[T any](v *[]T, def T) {
	if len(*v) == 0 {
		*v = []T{def}
	}
}

// normalize fills in defaults and returns all that is wrong, as one error that
// wraps ErrUsage.
func (c *Config) normalize() error {
	c.defaults()
	var errs faults
	for _, p := range c.Paths {
		if !slices.Contains(Paths(), p) {
			errs.add("--path %q is unknown: use %s", p, strings.Join(Paths(), ", "))
		}
	}
	for _, n := range c.Sizes {
		errs.between("--size", n, 1, maxSize)
	}
	errs.between("--result-size", c.ResultSize, 0, maxSize)
	for _, n := range c.Windows {
		errs.between("--window", n, 1, maxWindow)
	}
	for _, n := range c.Batches {
		errs.between("--batch", n, 1, maxBatch)
	}
	for _, n := range c.Connected {
		errs.between("--connected", n, 0, maxConnected)
	}
	for _, d := range c.ProcessTimes {
		if d < 0 || d > maxProcess {
			errs.add("--process-time %v is not between 0 and %v", d, maxProcess)
		}
	}
	errs.between("--clients", c.Clients, 1, maxClients)
	errs.between("--threads", c.Threads, 1, max(c.Clients, 1))
	errs.between("--goroutines", c.Goroutines, 0, maxGoroutines)
	errs.between("--cores", c.Cores, 1, maxClients)
	errs.between("--retries", c.Retries, 0, 1<<20)
	if c.FetchSize != 0 {
		errs.between("--fetch-size", c.FetchSize, minFetch, maxFetch)
	}
	if c.Limit < 0 || c.Alpha < 0 || c.Alpha >= 1 {
		errs.add("--limit %v must not be negative and --alpha %v be between 0 and 1", c.Limit, c.Alpha)
	}
	if c.Alpha != 0 && c.Limit == 0 {
		errs.add("--alpha is the share of calls that may take longer than --limit: give that too")
	}
	if c.Duration < 0 || c.Warmup < 0 || c.Ops < 0 {
		errs.add("--duration %v, --warmup %v and --ops %d must not be negative", c.Duration, c.Warmup, c.Ops)
	}
	errs.between("--trials", c.Trials, 1, 1<<20)
	return errs.err()
}

// faults collects what is wrong with a configuration.
type faults []error

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Errorf(format, args...)) }

func (f *faults) between(name string, v, lo, hi int) {
	if v < lo || v > hi {
		f.add("%s %d is not between %d and %d", name, v, lo, hi)
	}
}

func (f *faults) err() error { return usage(*f...) }

// usage makes one error of several, nil when there are none.
func usage(errs ...error) error {
	err := errors.Join(errs...)
	if err == nil {
		return nil
	}
	return &usageError{err}
}

// usageError is an error of the user's, whose text stands for itself.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }

func (e *usageError) Unwrap() []error { return []error{e.err, ErrUsage} }

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

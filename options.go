package remora

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/rpc/rfp"
)

// Path says how operations and their results travel.
type Path string

// The paths.
const (
	// PathRFP is the default: results are fetched by READ, and pushed by the
	// server while it is slow.
	PathRFP Path = "rfp"
	// PathFetch always fetches.
	PathFetch Path = "fetch"
	// PathReply always has them pushed.
	PathReply Path = "reply"
	// PathHerd writes requests by UC and gets results by UD. Both may lose messages,
	// which are sent again. What is longer than about 1000 bytes, request or result,
	// takes PathRFP; such a get is asked for twice.
	PathHerd Path = "herd"
	// PathSendRecv sends requests and gets results by SEND over RC. What is longer than
	// 1 KiB, request or result, takes PathRFP, as on PathHerd.
	PathSendRecv Path = "sendrecv"
	// PathOneSided finds items of the engine slots by READs, and PathOneSidedFAA counts
	// each use of one by an atomic.
	PathOneSided    Path = "onesided"
	PathOneSidedFAA Path = "onesided-faa"
	// PathPilaf finds items of the engine cuckoo by READs, and changes them as PathSendRecv
	// does.
	PathPilaf Path = "pilaf"
	// PathFarm and PathFarmVar find items of the engines hopscotch and hopscotch-var by
	// READs.
	PathFarm    Path = "farm"
	PathFarmVar Path = "farm-var"
)

// searches reports whether items are found by READs on a path. Everything else, and what
// cannot be found so, takes the way of PathReply; short changes of PathPilaf that of PathSendRecv.
func (p Path) searches() bool {
	switch p {
	case PathOneSided, PathOneSidedFAA, PathPilaf, PathFarm, PathFarmVar:
		return true
	case PathRFP, PathFetch, PathReply, PathHerd, PathSendRecv:
	}
	return false
}

// Option is a choice about a client (Dial) or a session (Client.Session). What is
// wrong with options is reported there, all of it in one error.
type Option func(*config)

// config is what the options say.
type config struct {
	window, batch int
	policy        fabric.Policy
	path          Path
	fetchSize     int
	retries       int
	links         int
	habitual      bool // links are used as habits say
	recency       Recency
	log           *slog.Logger
	firstPause    time.Duration
	longestPause  time.Duration
	dialTimeout   time.Duration
	wait          time.Duration
	device        fabric.Device
	change        func(*rfp.ConnConfig)
	clientOnly    string // the last option that only a client has
}

const (
	defaultFirstPause   = 5 * time.Millisecond
	defaultLongestPause = time.Second
	defaultDialTimeout  = 5 * time.Second
	defaultWait         = time.Second
	defaultBatch        = 32
)

func defaults() config {
	return config{
		log: slog.New(slog.DiscardHandler), batch: defaultBatch, path: PathRFP, recency: RecencyBatched,
		links: habitLinks, habitual: true,
		firstPause: defaultFirstPause, longestPause: defaultLongestPause,
		dialTimeout: defaultDialTimeout, wait: defaultWait,
	}
}

// WithWindow sets how many frames can be on their way to each core; default 8, on
// PathHerd and PathSendRecv 4 operations, and as many changes on PathPilaf. The server may allow less, and then less it is (of
// these 16 unless the program that serves was built otherwise, of herd never more than 64):
// a session that starts more gets ErrWindowFull, a client waits.
func WithWindow(frames int) Option { return func(c *config) { c.window = frames } }

// WithBatch sets how many operations make a frame at most. In a client (default
// 32) operations do not wait for one another: those that come while a frame
// cannot be sent share the next. In a session (default 1) a frame waits to be
// full or for Flush; on PathHerd, PathSendRecv and PathPilaf there are no frames.
func WithBatch(operations int) Option { return func(c *config) { c.batch = operations } }

// WithPolicy says whether goroutines that wait for long may sleep (adaptive, the
// default) or spin (busy).
func WithPolicy(p fabric.Policy) Option { return func(c *config) { c.policy = p } }

// WithPath chooses how operations and results travel. The address can say the same, with
// ?path=reply, and counts more.
func WithPath(p Path) Option { return func(c *config) { c.path = p } }

// WithFetch sets the bytes of the first READ of an answer (F) and how many failed
// READs make an answer slow (R), as `remora tune` finds them. 0 leaves one at its
// default.
func WithFetch(size, retries int) Option {
	return func(c *config) { c.fetchSize, c.retries = size, retries }
}

// WithLinks has items that were got before read where they are, by one READ and without
// the server, if it allows that (Info.Links): for so many keys on each core the place is
// remembered, which takes 32 bytes. An item that was changed, deleted, has expired or is not
// there any more is found out, and the server is asked; so it is for a get that would have to
// wait for others on their way. 0 remembers none. It is for PathRFP, PathFetch and PathReply.
//
// Without this option the client finds out for itself where links are worth while: on shared
// memory, for operations that come one at a time, and for as long as a quarter of the gets and
// more are of keys that were got before. Then it remembers up to 65536 places on each core. While
// a session that has done so has a get by a link on its way it starts nothing else
// (ErrWindowFull): the result is there at once.
func WithLinks(keys int) Option {
	return func(c *config) { c.links, c.habitual = keys, false }
}

// Recency says how a server learns that items are in use which are read without it, so
// that it does not evict those.
type Recency string

// The kinds of recency.
const (
	// RecencyBatched, the default, notes what is used, and tells the server with the next
	// get that has to ask it, or after ten milliseconds.
	RecencyBatched Recency = "batched"
	// RecencyAtomic counts every use at the server, by an atomic.
	RecencyAtomic Recency = "faa"
	// RecencySampled counts one use in sixteen.
	RecencySampled Recency = "sampled"
	// RecencyNone tells the server nothing.
	RecencyNone Recency = "none"
)

// WithRecency chooses how the server learns of items that are read by links.
func WithRecency(r Recency) Option { return func(c *config) { c.recency = r } }

// sampledEvery is that of RecencySampled.
const sampledEvery = 16

// touchEvery is one in how many uses is counted by an atomic, 0 for none.
func (c *config) touchEvery() int {
	switch {
	case c.path == PathOneSidedFAA, c.links != 0 && c.recency == RecencyAtomic:
		return 1
	case c.links != 0 && c.recency == RecencySampled:
		return sampledEvery
	}
	return 0
}

// WithLogger sets where lost and renewed connections are told of; default: nowhere.
func WithLogger(log *slog.Logger) Option {
	return func(c *config) {
		c.clientOnly = "WithLogger"
		if c.log = log; log == nil {
			c.log = slog.New(slog.DiscardHandler)
		}
	}
}

// WithBackoff sets the pauses between attempts to reach a lost server: the first,
// from where on they double, and the longest. Each is shortened by up to a half,
// at random. Default 5 ms and 1 s.
func WithBackoff(first, longest time.Duration) Option {
	return func(c *config) { c.firstPause, c.longestPause = first, longest }
}

// WithDialTimeout bounds one attempt to connect; default 5 s.
func WithDialTimeout(d time.Duration) Option { return func(c *config) { c.dialTimeout = d } }

// WithPatience sets for how long after a connection was lost operations wait for
// a new one; default 1 s. From then on they fail at once, until there is one. 0
// never waits.
func WithPatience(d time.Duration) Option { return func(c *config) { c.wait = d } }

// WithDevice makes connections on a device that the program opened, and which
// stays its to close after the client. Programs with several clients share one;
// it is the only way to a server on the loop fabric.
func WithDevice(d fabric.Device) Option {
	return func(c *config) { c.clientOnly, c.device = "WithDevice", d }
}

// WithConn changes the configuration of each connection just before it is made,
// for experiments with what has no option of its own. It is called from any
// goroutine.
func WithConn(change func(*rfp.ConnConfig)) Option { return func(c *config) { c.change = change } }

// apply makes a configuration of options.
func (c config) apply(opts []Option) (config, error) {
	c.clientOnly = ""
	for _, o := range opts {
		if o != nil {
			o(&c)
		}
	}
	return c, c.validate()
}

// settle decides whether there are links, when nobody has. Their worth was measured on shared
// memory.
func (c *config) settle(fabric string) {
	if !c.habitual {
		return
	}
	if c.links = 0; fabric == provider.Shm && c.path == PathRFP {
		c.links = habitLinks
	}
}

func (c *config) validate() error {
	var faults []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	const most = 1024
	bad(c.window < 0 || c.window > most, "a window of %d frames: use 1 to %d", c.window, most)
	bad(c.batch < 1 || c.batch > most, "a batch of %d operations: use 1 to %d", c.batch, most)
	bad(c.policy != fabric.Adaptive && c.policy != fabric.Busy, "policy %d is neither adaptive nor busy", c.policy)
	paths := []Path{
		PathRFP, PathFetch, PathReply, PathHerd, PathSendRecv,
		PathOneSided, PathOneSidedFAA, PathPilaf, PathFarm, PathFarmVar,
	}
	recencies := []Recency{RecencyBatched, RecencyAtomic, RecencySampled, RecencyNone}
	bad(!slices.Contains(recencies, c.recency), "recency %q is unknown: use one of %v", c.recency, recencies)
	const mostLinks = 1 << 28
	bad(c.links < 0 || c.links > mostLinks, "%d links: use 0 to %d", c.links, mostLinks)
	bad(c.links != 0 && !c.habitual && (c.path.short() || c.path.searches()), "links on path %s: use them with %s", c.path, PathRFP)
	bad(!slices.Contains(paths, c.path), "path %q is unknown: use one of %v", c.path, paths)
	bad(c.fetchSize < 0 || c.retries < 0, "fetch size %d and retries %d must not be negative", c.fetchSize, c.retries)
	bad(c.firstPause <= 0 || c.longestPause < c.firstPause,
		"backoff from %v to %v: the first pause is positive, and the longest not shorter", c.firstPause, c.longestPause)
	bad(c.dialTimeout <= 0, "a dial timeout of %v: it must be positive", c.dialTimeout)
	bad(c.wait < 0, "a patience of %v: it must not be negative", c.wait)
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrInvalid, errors.Join(faults...))
}

// hashes reports whether connections are always told the hashes of keys; those with links say
// themselves whether they want them.
func (c *config) hashes() bool { return c.path.short() || c.path.searches() }

// connConfig is the configuration of a connection.
func (c *config) connConfig(device fabric.Device, core int) rfp.ConnConfig {
	cfg := rfp.ConnConfig{
		Device: device, Core: core, Window: c.window, Batch: c.batch, Policy: c.policy,
		Params: rfp.Params{FetchSize: c.fetchSize, Retries: c.retries},
	}
	switch c.path {
	case PathFetch:
		cfg.Pinned, cfg.Mode = true, rfp.Fetch
	case PathReply, PathOneSided, PathOneSidedFAA, PathPilaf, PathFarm, PathFarmVar:
		cfg.Pinned, cfg.Mode = true, rfp.Reply
	case PathRFP, PathHerd, PathSendRecv:
	}
	if c.change != nil {
		c.change(&cfg)
	}
	return cfg
}

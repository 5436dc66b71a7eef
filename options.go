package remora

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/path"
)

// Path is the name of a way in which operations and their results travel.
type Path string

// The paths.
const (
	// PathRFP is the default: the client fetches results by READ, and the server pushes
	// them while it is slow.
	PathRFP Path = "rfp"
	// PathFetch always fetches results.
	PathFetch Path = "fetch"
	// PathReply always has the server push results.
	PathReply Path = "reply"
	// PathHerd writes requests by UC and receives results by UD. Both may lose messages,
	// which are sent again. Requests and results longer than about 1000 bytes take PathRFP;
	// a get with such a result is sent twice.
	PathHerd Path = "herd"
	// PathSendRecv sends requests and results by SEND over RC. Those longer than 1 KiB take
	// PathRFP, as on PathHerd.
	PathSendRecv Path = "sendrecv"
	// PathOneSided finds items of the engine slots by READs. PathOneSidedFAA also counts
	// each use of an item by an atomic.
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

// Option is a choice about a client (Dial) or a session (Client.Session). These report all
// invalid options in one error.
type Option func(*config)

// config is what the options say.
type config struct {
	path.Config
	recency    Recency
	log        *slog.Logger
	device     fabric.Device
	clientOnly string // the last option that only a client has
}

const (
	defaultFirstPause    = 5 * time.Millisecond
	defaultLongestPause  = time.Second
	defaultDialTimeout   = 5 * time.Second
	defaultReconnectWait = time.Second
	defaultBatch         = 32
)

func defaults() config {
	return config{
		Config: path.Config{
			Path: path.RFP, Batch: defaultBatch, AutoLinks: true, DialTimeout: defaultDialTimeout,
			FirstPause: defaultFirstPause, LongestPause: defaultLongestPause, ReconnectWait: defaultReconnectWait,
		},
		log: slog.New(slog.DiscardHandler), recency: RecencyBatched,
	}
}

// WithWindow sets how many frames can be in flight to each core. The default is 8; PathHerd
// and PathSendRecv, and the changes of PathPilaf, count operations, 4 by default. The server
// may allow less: 16 operations by default, and never more than 64 on PathHerd. A session that
// starts more gets ErrWindowFull, a client waits.
func WithWindow(frames int) Option { return func(c *config) { c.Window = frames } }

// WithBatch sets how many operations a frame holds at most. In a client (default 32)
// operations do not wait for one another: those that come while a frame cannot be sent share
// the next. In a session (default 1) a frame waits until it is full, for Flush, or for
// WithFlushAfter. PathHerd, PathSendRecv and PathPilaf have no frames.
func WithBatch(operations int) Option { return func(c *config) { c.Batch = operations } }

// WithFlushAfter sets how long the first operation of a frame waits for others before the
// frame is sent, while results are polled for; default 5 ms.
func WithFlushAfter(d time.Duration) Option { return func(c *config) { c.FlushAfter = d } }

// WithBusyPoll has goroutines that wait spin and never sleep. Without it those that wait for
// long sleep.
func WithBusyPoll(on bool) Option { return func(c *config) { c.Busy = on } }

// WithPath chooses how operations and results travel. An address with ?path= overrides it.
func WithPath(p Path) Option { return func(c *config) { c.Path = path.Name(p) } }

// WithFetch sets how many bytes the first READ of an answer has (F), and how many failed
// READs make the client ask for a pushed answer (R), as `remora tune` finds them. 0 keeps the
// default.
func WithFetch(size, retries int) Option {
	return func(c *config) { c.FetchSize, c.Retries = size, retries }
}

// WithLinks has the client remember on each core where the items of that many keys are, in 32
// bytes each, and get those items by one READ, without the server's CPU, if the server allows
// that (Info.Links). The client notices when an item was changed, deleted, evicted or has
// expired, and then asks the server. It also asks where a READ would have to wait for other
// operations in flight. 0 turns links off. Links are for PathRFP, PathFetch and PathReply.
//
// Without this option the client decides whether to follow links: on shared memory, for
// operations that come one at a time, and as long as a quarter of the gets or more are of keys
// that were got before. Then it remembers up to 65536 places on each core. A session that
// follows a link so starts nothing else until it has taken the result (ErrWindowFull), which
// arrives at once.
func WithLinks(keys int) Option {
	return func(c *config) { c.Links, c.AutoLinks = keys, false }
}

// Recency is how a server learns which items clients read without it, so that it does not
// evict them.
type Recency string

// The kinds of recency.
const (
	// RecencyBatched, the default, reports uses with the next get that has to ask the
	// server, or after ten milliseconds.
	RecencyBatched Recency = "batched"
	// RecencyAtomic counts every use at the server, by an atomic.
	RecencyAtomic Recency = "faa"
	// RecencySampled counts one use in sixteen.
	RecencySampled Recency = "sampled"
	// RecencyNone reports nothing.
	RecencyNone Recency = "none"
)

// WithRecency chooses how the server learns of items that are read by links.
func WithRecency(r Recency) Option { return func(c *config) { c.recency = r } }

// WithLogger sets the logger for lost and renewed connections; default: none.
func WithLogger(log *slog.Logger) Option {
	return func(c *config) {
		c.clientOnly = "WithLogger"
		if c.log = log; log == nil {
			c.log = slog.New(slog.DiscardHandler)
		}
	}
}

// WithBackoff sets the pauses between attempts to reach a lost server: the first pause, after
// which they double, and the longest. Each is shortened by up to a half, at random. Default
// 5 ms and 1 s.
func WithBackoff(first, longest time.Duration) Option {
	return func(c *config) { c.FirstPause, c.LongestPause = first, longest }
}

// WithDialTimeout bounds one attempt to connect; default 5 s.
func WithDialTimeout(d time.Duration) Option { return func(c *config) { c.DialTimeout = d } }

// WithReconnectWait sets how long after the loss of a connection operations wait for a new one;
// default 1 s. After that they fail at once, until there is one. 0 never waits.
func WithReconnectWait(d time.Duration) Option { return func(c *config) { c.ReconnectWait = d } }

// WithDevice makes connections on a device that the program opened, and closes after the
// client. It is the one option that names a type of package fabric, because the device itself
// is what such a program has: several clients share one, a test wraps one to inject faults,
// and a server on the loop fabric exists only on the devices of its network.
func WithDevice(d fabric.Device) Option {
	return func(c *config) { c.clientOnly, c.device = "WithDevice", d }
}

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

// settle completes a valid configuration with what follows from the options.
func (c *config) settle(d *path.Dialer) {
	const sampledEvery = 16
	c.ChooseLinks(d)
	c.ReportUses, c.CountEvery = false, 0
	switch c.recency {
	case RecencyBatched:
		c.ReportUses = true
	case RecencyAtomic:
		c.CountEvery = 1
	case RecencySampled:
		c.CountEvery = sampledEvery
	case RecencyNone:
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
	bad(c.Window < 0 || c.Window > most, "window of %d frames: use 1 to %d", c.Window, most)
	bad(c.Batch < 1 || c.Batch > most, "batch of %d operations: use 1 to %d", c.Batch, most)
	bad(c.FlushAfter < 0, "flush after %v: use a positive time", c.FlushAfter)
	recencies := []Recency{RecencyBatched, RecencyAtomic, RecencySampled, RecencyNone}
	bad(!slices.Contains(recencies, c.recency), "unknown recency %q: use one of %v", c.recency, recencies)
	const mostLinks = 1 << 28
	bad(c.Links < 0 || c.Links > mostLinks, "%d links: use 0 to %d", c.Links, mostLinks)
	bad(c.Links != 0 && !c.AutoLinks && c.Path.NeedsHashes(), "links on path %s: use them with %s", c.Path, PathRFP)
	bad(!slices.Contains(path.Names(), c.Path), "unknown path %q: use one of %v", c.Path, path.Names())
	bad(c.FetchSize < 0 || c.Retries < 0, "fetch size %d and retries %d: neither can be negative", c.FetchSize, c.Retries)
	bad(c.FirstPause <= 0 || c.LongestPause < c.FirstPause,
		"backoff from %v to %v: the first pause must be positive, and the longest not shorter", c.FirstPause, c.LongestPause)
	bad(c.DialTimeout <= 0, "dial timeout of %v: use a positive time", c.DialTimeout)
	bad(c.ReconnectWait < 0, "reconnect wait of %v: it cannot be negative", c.ReconnectWait)
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrInvalid, errors.Join(faults...))
}

package path

import (
	"errors"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/internal/backoff"
	"github.com/remora-kv/remora/rpc/rfp"
)

// Config has the choices of a caller about connections.
type Config struct {
	Path Name
	// Window is how many frames can be in flight, and Batch how many operations a frame
	// holds at most. A frame that is not full is sent after FlushAfter. 0 is the default
	// of the path.
	Window, Batch int
	FlushAfter    time.Duration
	// InOrder has operations on one key happen in the order in which they are sent (P2).
	InOrder bool
	// Busy has goroutines that wait spin and never sleep.
	Busy bool
	// FetchSize and Retries are the parameters F and R of rfp; 0 is the default.
	FetchSize, Retries int
	// Links is how many links a connection remembers; 0 is none. With AutoLinks a link
	// policy decides when they are followed.
	Links     int
	AutoLinks bool
	// ReportUses has the server learn which items were read by links. The reader counts
	// one use in CountEvery by an atomic, 0 for none.
	ReportUses bool
	CountEvery int
	// DialTimeout bounds one attempt to connect. FirstPause and LongestPause are those between
	// attempts. Operations wait for a new connection until ReconnectWait has passed since the loss.
	DialTimeout              time.Duration
	FirstPause, LongestPause time.Duration
	ReconnectWait            time.Duration
}

// Backoff returns the pauses between attempts to connect.
func (c *Config) Backoff() backoff.Pauses { return backoff.New(c.FirstPause, c.LongestPause) }

// ChooseLinks decides whether AutoLinks means any links. A gain was measured on shared memory
// only, for one operation at a time.
func (c *Config) ChooseLinks(d *Dialer) {
	if !c.AutoLinks {
		return
	}
	if c.Links = 0; d.Addr.Fabric == provider.Shm && c.Path == RFP {
		c.Links = maxAutoLinks
	}
}

// readsMemory reports whether connections have a reader, if the server offers links or not.
func (c *Config) readsMemory(links bool) bool {
	return c.Path.Searches() || c.Links != 0 && links
}

// canDoWithout reports whether a connection is of use although its reader failed with err: a
// server offers links on one of its addresses and everything else on all, and the caller may
// not have asked for links.
func (c *Config) canDoWithout(err error) bool {
	return !c.Path.Searches() && (refused(err) || c.AutoLinks && !errors.Is(err, errRestarted))
}

func (c *Config) countEvery() int {
	switch {
	case c.Path.kind().counts:
		return 1
	case c.Links != 0:
		return c.CountEvery
	}
	return 0
}

// rfp returns the configuration of a connection of rfp.
func (c *Config) rfp(device fabric.Device, core int) rfp.ConnConfig {
	k := c.Path.kind()
	return rfp.ConnConfig{
		Device: device, Core: core, Window: c.Window, Batch: c.Batch, FlushAfter: c.FlushAfter, Policy: fabric.PolicyOf(c.Busy),
		Params: rfp.Params{Pinned: k.pinned, Mode: k.mode, FetchSize: c.FetchSize, Retries: c.Retries},
	}
}

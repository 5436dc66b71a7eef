package rfp

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/remora-kv/remora/rpc/internal/serving"
)

// Params are the choices of a client that the papers call R and F, with those
// about changing the mode.
type Params struct {
	// Pinned says that Mode is fixed: Fetch, or Reply for a server that always
	// replies. Otherwise the mode is hybrid and Mode is what it begins with.
	Pinned bool
	Mode   Mode
	// Retries is R: a call for which more READs than this have failed, or would have
	// failed without the delay before the first, is slow. A batch may take longer in
	// proportion to its messages. Default 5.
	Retries int
	// SlowCalls is how many slow calls in a row change the mode to Reply, and how
	// many quick ones change it back, more after a change back that failed.
	// Default 2.
	SlowCalls int
	// FetchSize is F, the bytes of the first READ of an answer, without a checksum behind them
	// (fabric.Limits.InOrder). Default 256.
	FetchSize int
	// SleepAfter is the process time of the server above which a client that expects a push
	// and may sleep (fabric.Adaptive) sleeps without spinning. A shorter one saves the
	// client's CPU and costs throughput: waking takes some ten microseconds. Default 30 us.
	SleepAfter time.Duration
}

const (
	defaultRetries    = 5
	defaultSlowCalls  = 2
	defaultFetchSize  = 256
	minFetchSize      = 16
	defaultSleepAfter = 30 * time.Microsecond
)

func (p *Params) setDefaults() {
	p.Retries = cmp.Or(p.Retries, defaultRetries)
	p.SlowCalls = cmp.Or(p.SlowCalls, defaultSlowCalls)
	p.FetchSize = cmp.Or(p.FetchSize, defaultFetchSize)
	p.SleepAfter = cmp.Or(p.SleepAfter, defaultSleepAfter)
}

func (p *Params) validate() error {
	err := errors.Join(
		serving.Between("Retries", p.Retries, 1, 1<<20),
		serving.Between("SlowCalls", p.SlowCalls, 1, 1<<20),
		serving.Between("FetchSize", p.FetchSize, minFetchSize, maxPayload),
	)
	if p.Mode != Fetch && p.Mode != Reply {
		err = errors.Join(err, fmt.Errorf("mode %d is neither Fetch nor Reply", p.Mode))
	}
	if p.SleepAfter < 0 {
		err = errors.Join(err, fmt.Errorf("SleepAfter is %v, must not be negative", p.SleepAfter))
	}
	return err
}

package calls

import (
	"cmp"
	"fmt"
	"time"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc/rfp"
	"github.com/remora-kv/remora/rpc/rfp/tune"
	"github.com/remora-kv/remora/rpc/wire"
)

// Case is what one row measures: every parameter fixed. It goes to the server
// process as it is.
type Case struct {
	Path, Fabric        string
	Size, ResultSize    int
	Window, Batch       int
	Process             time.Duration
	Clients, Threads    int
	Connected           int
	Cores               int
	Goroutines          int
	Retries, FetchSize  int
	SleepAfter          time.Duration
	NoInline, SignalAll bool
	Poll                fabric.Policy
	Limit               time.Duration
	Alpha               float64
	Placement           string
}

// Title names a case for people.
func (c *Case) Title() string {
	s := fmt.Sprintf("%s %d B window %d batch %d", c.Path, c.Size, c.Window, c.Batch)
	if c.Process != 0 {
		s += fmt.Sprintf(" process time %v", c.Process)
	}
	if c.Connected != 0 {
		s += fmt.Sprintf(" connected %d", c.Connected)
	}
	if !c.sharing().Own() {
		s += " placement " + c.Placement
	}
	return s
}

// plan expands the configuration into cases, checked against what the device can
// do.
func (c *Config) plan(lim fabric.Limits) ([]Case, error) {
	var errs bench.Faults
	for _, w := range c.Windows {
		if need := queueDepth(w); need > lim.MaxDepth {
			errs.Add("--window %d needs a queue of %d requests and %s has at most %d", w, need, c.Fabric, lim.MaxDepth)
		}
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	var cases []Case
	for _, path := range c.Paths {
		for _, process := range c.ProcessTimes {
			for _, connected := range c.Connected {
				for _, size := range c.Sizes {
					for _, window := range c.Windows {
						for _, batch := range c.Batches {
							one := c.newCase(path, process, connected, size, window, batch)
							for _, one.Placement = range c.Placements {
								cases = append(cases, one)
							}
						}
					}
				}
			}
		}
	}
	return cases, nil
}

// queueDepth is the send queue of an rfp connection, its ring of results being
// twice the window.
func queueDepth(window int) int { return 4*window + 2*max(2*window, 8) + 16 }

func (c *Config) newCase(path string, process time.Duration, connected, size, window, batch int) Case {
	one := Case{
		Path: path, Fabric: c.Fabric, Size: size, ResultSize: c.ResultSize, Window: window, Batch: batch,
		Process: process, Clients: c.Clients, Threads: c.Threads, Connected: connected, Cores: c.Cores,
		Goroutines: c.Goroutines, Retries: c.Retries, FetchSize: c.FetchSize, SleepAfter: c.SleepAfter,
		NoInline: c.NoInline, SignalAll: c.SignalAll, Poll: c.Poll, Limit: c.Limit, Alpha: c.Alpha,
	}
	one.ResultSize = cmp.Or(one.ResultSize, size)
	one.FetchSize = cmp.Or(one.FetchSize, one.wholeAnswer())
	if one.Goroutines != 0 {
		one.Threads = 0
	}
	return one
}

// wholeAnswer is the F that brings the answer of a full frame: C8. A frame holds
// no more than framePayload bytes.
func (c *Case) wholeAnswer() int {
	return max(minFetch, wire.ResultBytes(min(c.batchMost()*(wire.EntryHeader+c.ResultSize), framePayload)))
}

// framePayload is what a frame of rfp holds.
const framePayload = 2048

// batchMost is the largest batch that a connection may choose.
func (c *Case) batchMost() int {
	switch {
	case c.Limit != 0:
		return max(c.Batch, tune.MaxBatch)
	case c.Goroutines != 0:
		return min(c.Batch, c.Goroutines)
	}
	return c.Batch
}

// callers is the number of threads or goroutines that make calls.
func (c *Case) callers() int {
	if c.Goroutines != 0 {
		return c.Clients * c.Goroutines
	}
	return c.Threads
}

// connConfig is the configuration of a connection.
func (c *Case) connConfig(dev fabric.Device) rfp.ConnConfig {
	cfg := rfp.ConnConfig{
		Device: dev, Core: rfp.AnyCore, Window: c.Window, Batch: c.Batch,
		Policy: c.Poll, NoInline: c.NoInline, SignalAll: c.SignalAll, Params: params(c.Path),
	}
	cfg.Retries, cfg.FetchSize, cfg.SleepAfter = c.Retries, c.FetchSize, c.SleepAfter
	if c.Limit != 0 {
		cfg.AutoBatch = &rfp.AutoBatch{Limit: c.Limit, Alpha: c.Alpha}
	}
	return cfg
}

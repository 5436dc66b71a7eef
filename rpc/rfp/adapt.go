package rfp

import (
	"cmp"
	"fmt"
	"time"

	"github.com/remora-kv/remora/rpc/internal/serving"
	"github.com/remora-kv/remora/rpc/rfp/tune"
	"github.com/remora-kv/remora/rpc/wire"
)

// AutoBatch lets a connection choose its batch size: the largest at which at most
// the share Alpha of the messages waits longer than Limit for its result.
type AutoBatch struct {
	Limit time.Duration
	Alpha float64 // default 0.05
	Max   int     // default 128
}

// AutoTune lets a connection choose R and F anew from the results it gets.
type AutoTune struct {
	// Profile is that of the fabric, as `remora tune` saves it.
	Profile *tune.Profile
	tune.TunerConfig
}

const defaultAlpha = 0.05

// adaptive is the part of a Conn that adapts its parameters. It is idle unless
// asked for.
type adaptive struct {
	batch  *tune.Batch
	stamps []stamp // ring: of the messages without a result
	stampN uint64  // messages ever sent
	stampM uint64  // results ever taken
	tuner  *tune.Tuner
	frames int // since the tuner was asked last
}

// stamp is when a message was sent, in a batch of which size.
type stamp struct {
	at   int64
	size int
}

func (a *AutoBatch) validate() error {
	if a.Limit <= 0 || a.Alpha < 0 || a.Alpha >= 1 {
		return fmt.Errorf("AutoBatch: limit %v, alpha %v: the limit is positive and alpha between 0 and 1", a.Limit, a.Alpha)
	}
	return serving.Between("AutoBatch.Max", a.Max, 0, tune.MaxBatch)
}

// adapt prepares what the configuration asks for.
func (c *Conn) adapt() {
	if a := c.cfg.AutoBatch; a != nil {
		most, alpha := a.Max, a.Alpha
		most = cmp.Or(most, tune.MaxBatch)
		if alpha == 0 {
			alpha = defaultAlpha
		}
		c.cfg.Batch = min(c.cfg.Batch, most)
		c.batch = tune.NewBatch(a.Limit, alpha, c.cfg.Batch, most)
		c.stamps = make([]stamp, c.rings.window*wireEntries(c.rings.payload)+1)
	}
	if t := c.cfg.AutoTune; t != nil && t.Profile != nil {
		c.tuner = tune.NewTuner(t.Profile, tune.Choice{R: c.cfg.Retries, F: c.fetchSize}, t.TunerConfig)
	}
}

// wireEntries is how many messages a frame can hold at most.
func wireEntries(payload int) int { return payload / wire.EntryHeader }

// Batch returns the batch size that is in use.
func (c *Conn) Batch() int { return c.cfg.Batch }

// Choice returns R and F that are in use.
func (c *Conn) Choice() tune.Choice { return tune.Choice{R: c.cfg.Retries, F: c.fetchSize} }

// stampSent notes when a message was sent.
func (c *Conn) stampSent() {
	c.stamps[c.stampN%uint64(len(c.stamps))] = stamp{at: c.end.Clock.Now(), size: c.cfg.Batch}
	c.stampN++
}

// stampTaken learns from the latency of a message.
func (c *Conn) stampTaken() {
	s := c.stamps[c.stampM%uint64(len(c.stamps))]
	c.stampM++
	c.batch.ObserveAt(time.Duration(c.end.Clock.Now()-s.at), s.size)
	c.cfg.Batch = c.batch.Size()
}

// tuneEvery is after how many frames the tuner is asked.
const tuneEvery = 256

// learn records a result frame, and takes over a better choice of R and F.
func (c *Conn) learn(w wire.Word0) {
	if w.Size() < wire.EntryHeader {
		return
	}
	c.tuner.Sample().Frame(w.Size())
	if nanos := w.Nanos(); nanos != 0 {
		c.tuner.Sample().Process(time.Duration(nanos))
	}
	if c.frames++; c.frames < tuneEvery {
		return
	}
	c.frames = 0
	if better, ok := c.tuner.Decide(time.Duration(c.end.Clock.Now())); ok {
		c.cfg.Retries = better.R
		c.policy.respan()
		c.fetchSize = min(max(better.F, minFetchSize), c.stride)
		c.makeReads()
		_ = c.tellChoice()
	}
}

package cache

import (
	"errors"
	"io"
	"math"
	"os"
	"slices"
	"time"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/load"

	"github.com/remora-kv/remora/store"
)

// DistTrace is the distribution of a row whose operations come from a file.
const DistTrace = "trace"

// replay is where a driver has its operations from instead of a stream: its share of the
// lines of a file (C17).
type replay struct {
	open    func() (*load.Trace, error)
	reader  *load.Trace // nil: not opened yet
	records []load.TraceRecord
	stamp   uint64
	ended   bool
	err     error
}

// keepingLane is a lane whose server keeps values for a time, and deletes.
type keepingLane interface {
	lane
	putFor(slot int, key, value []byte, ttl time.Duration) error
	del(slot int, key []byte) error
}

// errNoReplay is what a lane says that cannot replay a trace.
var errNoReplay = errors.New("this path cannot replay a trace")

func (l *sessionLane) putFor(slot int, key, value []byte, ttl time.Duration) error {
	return started(l.StartPut(uint64(slot), view(key), remora.Entry{Value: value, TTL: ttl}, remora.Always()))
}

func (l *sessionLane) del(slot int, key []byte) error {
	return started(l.StartDelete(uint64(slot), view(key)))
}

func (l *pipelineLane) putFor(slot int, key, value []byte, ttl time.Duration) error {
	l.push(slot)
	return l.SetFor(key, value, ttl)
}

func (l *pipelineLane) del(slot int, key []byte) error {
	l.push(slot)
	return l.Delete(key)
}

// follow makes a driver, number i of so many, replay the trace of its case.
func (d *driver) follow(c *Case, i int, again bool) {
	longest := store.MaxKey
	if c.Path == PathMemcached {
		longest = maxMemcachedKey
	}
	d.values = load.ValuesOfAnySize(c.valueSizes())
	d.replay = &replay{
		open:    func() (*load.Trace, error) { return load.OpenTrace(c.Trace, i, c.Clients, again, longest) },
		records: make([]load.TraceRecord, len(d.slots)),
	}
}

// next puts the next line into a slot; false when there is none.
func (r *replay) next(i int, s *slot) bool {
	if r.reader == nil && r.err == nil {
		r.reader, r.err = r.open()
	}
	if r.err != nil || r.ended {
		return false
	}
	record, hash, err := r.reader.Next()
	if err != nil {
		if r.ended = errors.Is(err, io.EOF); !r.ended {
			r.err = err
		}
		return false
	}
	to := &r.records[i]
	to.Key = append(to.Key[:0], record.Key...)
	to.Size, to.TTL = record.Size, record.TTL
	r.stamp++
	s.index, s.op, s.get, s.stamp = hash, record.Op, record.Op == load.Get, r.stamp
	return true
}

// resend is send of a line.
func (d *driver) resend(i int, s *slot) error {
	r := &d.replay.records[i]
	if s.get {
		return d.lane.get(i, r.Key)
	}
	l, ok := d.lane.(keepingLane)
	if !ok {
		return errNoReplay
	}
	if s.op == load.Delete {
		return l.del(i, r.Key)
	}
	value := d.values.FillSized(d.value, s.index, s.stamp, r.Size)
	if len(value) > len(d.value) {
		d.value = value
	}
	return l.putFor(i, r.Key, value, r.TTL)
}

// over reports whether a driver has done all lines, and what their misses have left.
func (d *driver) over() (bool, error) {
	if d.replay == nil {
		return false, nil
	}
	return d.replay.ended && d.idle() && len(d.owed) == 0, d.replay.err
}

// close ends reading.
func (d *driver) close() error {
	if d.replay == nil || d.replay.reader == nil {
		return nil
	}
	return d.replay.reader.Close()
}

// toTheEnd is a number of operations that no trace has.
const toTheEnd = math.MaxUint64 / 8

// settleTrace drops what a trace says otherwise.
func (k *Case) settleTrace() {
	if k.Trace != "" {
		k.Dist, k.Theta, k.GetPct, k.Keys, k.KeySize, k.KeyDist = DistTrace, 0, 0, 0, 0, ""
	}
}

// checkTrace refuses what does not go with one.
func (c *Config) checkTrace(errs *bench.Faults) {
	if c.Trace == "" {
		return
	}
	if _, err := os.Stat(c.Trace); err != nil {
		errs.Add("--trace: %w", err)
	}
	for flag, given := range map[string]bool{
		"--workload": len(c.Workloads) != 0, "--get-pct": len(c.GetPcts) != 0, "--rmw-pct": len(c.RMWPcts) != 0, "--dist": len(c.Dists) != 0,
		"--cache": len(c.Caches) != 0, "--key-size": c.KeyDist != "",
	} {
		if given {
			errs.Add("--trace says which operations there are: leave out %s", flag)
		}
	}
	for _, n := range c.Goroutines {
		if n != 0 {
			errs.Add("--trace is replayed by connections: use --clients, not --goroutines")
		}
	}
	if len(c.Agents) != 0 || slices.ContainsFunc(c.Processes, func(n int) bool { return n != 0 }) {
		errs.Add("--trace is replayed once, by the clients of one process: use --clients, not --processes or --agents")
	}
	for _, p := range c.Paths {
		if p == PathNull {
			errs.Add("--trace needs a server that stores: --path %s has none", PathNull)
		}
	}
}

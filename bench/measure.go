package bench

import (
	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/internal/cycles"
)

// Measure is what one trial has found, of whatever benchmark. Every row embeds it, so that
// all of them have the same names in JSON and can be summed up, warned of and drawn alike.
type Measure struct {
	Trial     int     `json:"trial"` // from 1
	Ops       uint64  `json:"ops"`
	Seconds   float64 `json:"seconds"`
	OpsPerSec float64 `json:"ops_per_sec"`
	Mean      float64 `json:"mean_us"`
	P50       float64 `json:"p50_us"`
	P95       float64 `json:"p95_us"`
	P99       float64 `json:"p99_us"`
	P999      float64 `json:"p999_us"`
	// Max is the longest of all operations; nil where not all were timed.
	Max *float64 `json:"max_us"`
	// Errors counts operations that the server refused.
	Errors uint64 `json:"errors"`
	// ServerCPU and ClientCPU are percentages of one CPU, nil where they are not known, as
	// where client and server are one process.
	ServerCPU *float64 `json:"server_cpu_pct"`
	ClientCPU *float64 `json:"client_cpu_pct"`
	// TimedEvery is N where one operation in N was timed, each at the cost of
	// ClockNanos, and Samples how many that were.
	TimedEvery int     `json:"timed_every"`
	ClockNanos float64 `json:"clock_ns"`
	Samples    int64   `json:"samples"`
	// Timeline is the throughput over the time of the trial, nil of a very short one, and
	// Quantiles are the latencies, of ever larger shares. Both have about a hundred
	// points at most, however long the trial.
	Timeline  *load.Timeline  `json:"timeline,omitempty"`
	Quantiles []load.Quantile `json:"quantiles,omitempty"`
	// Warnings are what makes this row doubtful.
	Warnings []string `json:"warnings,omitempty"`
}

// MeasureOf is that of a tally: a trial from 1, of which one operation in every was timed.
func MeasureOf(t *load.Tally, trial, every int, scale cycles.Scale) Measure {
	l := t.Latencies(scale)
	m := Measure{
		Trial: trial, Ops: t.Ops, Seconds: load.Round(t.Time(scale).Seconds(), 6), OpsPerSec: t.Rate(scale), Errors: t.Errors,
		Mean: l.Mean, P50: l.P50, P95: l.P95, P99: l.P99, P999: l.P999,
		TimedEvery: every, ClockNanos: load.Round(scale.Overhead(), 2), Samples: l.Samples,
		Timeline: t.Timeline(scale), Quantiles: t.Quantiles(scale),
	}
	if t.Ops != 0 && uint64(l.Samples) == t.Ops {
		longest := l.Max
		m.Max = &longest
	}
	return m
}

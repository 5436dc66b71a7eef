package call

import (
	"encoding/json"
	"io"

	"github.com/remora-kv/remora/bench/load"

	"github.com/remora-kv/remora/internal/cycles"
)

// VerbsPerOp are verbs that one call takes.
type VerbsPerOp = load.VerbsPerOp

// Row is one measurement: one trial of one case. Its JSON form is one line of
// `remora bench rpc --json`; the fields up to ServerCPU are the ones that scripts
// rely on.
type Row struct {
	Path       string `json:"path"`
	Fabric     string `json:"fabric"`
	Size       int    `json:"size"`
	ResultSize int    `json:"result_size"`
	Clients    int    `json:"clients"`
	// Connected counts the further connections, which stay idle.
	Connected  int     `json:"connected"`
	Goroutines int     `json:"goroutines"`
	Window     int     `json:"window"`
	Batch      int     `json:"batch"`
	ProcessUs  float64 `json:"process_us"`
	Ops        uint64  `json:"ops"`
	Seconds    float64 `json:"seconds"`
	OpsPerSec  float64 `json:"ops_per_sec"`
	Mean       float64 `json:"mean_us"`
	P50        float64 `json:"p50_us"`
	P95        float64 `json:"p95_us"`
	P99        float64 `json:"p99_us"`
	P999       float64 `json:"p999_us"`
	// Errors counts calls that the server answered with a failure.
	Errors uint64     `json:"errors"`
	Verbs  VerbsPerOp `json:"verbs_per_op"`
	// Misses counts READs that found no answer, for each call, Switches changes
	// of mode during the trial, and Mode is the one at its end.
	Misses   float64 `json:"misses_per_op"`
	Switches uint64  `json:"switches"`
	Mode     string  `json:"mode"`
	// ClientCPU and ServerCPU are percentages of one CPU, nil where client and
	// server cannot be told apart.
	ClientCPU *float64 `json:"client_cpu_pct"`
	ServerCPU *float64 `json:"server_cpu_pct"`

	// Max is the longest call of those that were timed.
	Max float64 `json:"max_us"`
	// Threads is the number of client threads, 0 with goroutines.
	Threads   int    `json:"threads"`
	Cores     int    `json:"cores"`
	Trial     int    `json:"trial"`
	Poll      string `json:"poll"`
	Retries   int    `json:"retries"`
	FetchSize int    `json:"fetch_size"`
	NoInline  bool   `json:"no_inline,omitempty"`
	SignalAll bool   `json:"signal_all,omitempty"`
	// SleepAfterUs is set where it is not the default of rfp.
	SleepAfterUs float64 `json:"sleep_after_us,omitempty"`
	// LimitUs is set where connections choose their batch size.
	LimitUs float64 `json:"limit_us,omitempty"`
	// TimedEvery says that one call in so many was timed, each at the cost of
	// ClockNanos, and Samples how many that were.
	TimedEvery int     `json:"timed_every"`
	ClockNanos float64 `json:"clock_ns"`
	Samples    int64   `json:"samples"`
}

// rowOf makes the row of one trial, except for what both sides have used.
func rowOf(c *Case, t *load.Tally, scale cycles.Scale) Row {
	l := t.Latencies(scale)
	return Row{
		Path: c.Path, Fabric: c.Fabric, Size: c.Size, ResultSize: c.ResultSize,
		Clients: c.Clients, Connected: c.Connected, Goroutines: c.Goroutines,
		Window: c.Window, Batch: c.Batch, ProcessUs: float64(c.Process.Nanoseconds()) / 1e3,
		Ops: t.Ops, Seconds: load.Round(t.Time(scale).Seconds(), 6), OpsPerSec: t.Rate(scale), Errors: t.Errors,
		Mean: l.Mean, P50: l.P50, P95: l.P95, P99: l.P99, P999: l.P999, Max: l.Max,
		Threads: c.Threads, Cores: c.Cores, Poll: c.Poll.String(), NoInline: c.NoInline, SignalAll: c.SignalAll,
		LimitUs: float64(c.Limit.Nanoseconds()) / 1e3, Samples: l.Samples,
	}
}

// WriteJSON writes the row as one line.
func (r Row) WriteJSON(w io.Writer) error { return json.NewEncoder(w).Encode(r) }

package call

import (
	"encoding/json"
	"io"

	"github.com/remora-kv/remora/bench/internal/report"
	"github.com/remora-kv/remora/internal/cycles"
)

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
	// LimitUs is set where connections choose their batch size.
	LimitUs float64 `json:"limit_us,omitempty"`
	// TimedEvery says that one call in so many was timed, each at the cost of
	// ClockNanos, and Samples how many that were.
	TimedEvery int     `json:"timed_every"`
	ClockNanos float64 `json:"clock_ns"`
	Samples    int64   `json:"samples"`
}

// rowOf makes the row of one trial, except for what both sides have used.
func rowOf(c *Case, t *tally, scale cycles.Scale) Row {
	us := func(ticks float64) float64 { return report.Round(ticks*1e6/scale.PerSecond(), 4) }
	at := func(p float64) float64 { return us(float64(t.hist.ValueAtPercentile(p))) }
	seconds := float64(scale.Nanos(t.end-t.start)) / 1e9
	row := Row{
		Path: c.Path, Fabric: c.Fabric, Size: c.Size, ResultSize: c.ResultSize,
		Clients: c.Clients, Connected: c.Connected, Goroutines: c.Goroutines,
		Window: c.Window, Batch: c.Batch, ProcessUs: float64(c.Process.Nanoseconds()) / 1e3,
		Ops: t.ops, Seconds: report.Round(seconds, 6), Errors: t.errs,
		Mean: us(t.hist.Mean()), P50: at(50), P95: at(95), P99: at(99), P999: at(99.9),
		Max:     us(float64(t.hist.Max())),
		Threads: c.Threads, Cores: c.Cores, Poll: c.Poll.String(), NoInline: c.NoInline, SignalAll: c.SignalAll,
		LimitUs: float64(c.Limit.Nanoseconds()) / 1e3, Samples: t.hist.TotalCount(),
	}
	if seconds > 0 {
		row.OpsPerSec = report.Round(float64(t.ops)/seconds, 1)
	}
	return row
}

// WriteJSON writes the row as one line.
func (r Row) WriteJSON(w io.Writer) error { return json.NewEncoder(w).Encode(r) }

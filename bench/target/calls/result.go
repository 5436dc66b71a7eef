package calls

import (
	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/load"
)

// Row is one measurement: one trial of one case. Its JSON form is one line of
// `remora bench rpc --json`.
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
	bench.Measure
	Verbs load.VerbsPerOp `json:"verbs_per_op"`
	// Misses counts READs that found no answer, for each call, Switches changes
	// of mode during the trial, and Mode is the one at its end.
	Misses   float64 `json:"misses_per_op"`
	Switches uint64  `json:"switches"`
	Mode     string  `json:"mode"`
	// Threads is the number of client threads, 0 with goroutines.
	Threads   int    `json:"threads"`
	Cores     int    `json:"cores"`
	Poll      string `json:"poll"`
	Retries   int    `json:"retries"`
	FetchSize int    `json:"fetch_size"`
	NoInline  bool   `json:"no_inline,omitempty"`
	SignalAll bool   `json:"signal_all,omitempty"`
	// Placement is what client and server shared their CPUs with, where it is not nothing.
	Placement string `json:"placement,omitempty"`
	// SleepAfterUs is set where it is not the default of rfp.
	SleepAfterUs float64 `json:"sleep_after_us,omitempty"`
	// LimitUs is set where connections choose their batch size.
	LimitUs float64 `json:"limit_us,omitempty"`
}

// rowOf makes the row of one trial, except for what its connections know.
func rowOf(c *Case, t *bench.Trial) Row {
	row := Row{
		Measure: t.Measure(), Verbs: t.VerbsPerOp(),
		Path: c.Path, Fabric: c.Fabric, Size: c.Size, ResultSize: c.ResultSize,
		Clients: c.Clients, Connected: c.Connected, Goroutines: c.Goroutines,
		Window: c.Window, Batch: c.Batch, ProcessUs: float64(c.Process.Nanoseconds()) / 1e3,
		Threads: c.Threads, Cores: c.Cores, Poll: c.Poll.String(), NoInline: c.NoInline, SignalAll: c.SignalAll,
		LimitUs: float64(c.Limit.Nanoseconds()) / 1e3, SleepAfterUs: float64(c.SleepAfter.Nanoseconds()) / 1e3,
	}
	if !c.sharing().Own() {
		row.Placement = c.Placement
	}
	return row
}
